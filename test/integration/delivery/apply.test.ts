import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { kubectl, kustomizations } from './kustomize.ts'

/** The manifests name their namespace, so they need a cluster of their own. */
let cluster: OwnControlPlane

beforeAll(async () => {
  cluster = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
})

afterAll(async () => {
  await cluster.stop()
})

test.each(kustomizations())('kustomize builds %s without a warning', async (folder) => {
  const { stdout, stderr } = await kubectl('kustomize', folder)
  expect(stderr).toBe('')
  expect(stdout).toContain('kind: ')
})

/** Applies as Argo CD does, and gives what was said and each object's resourceVersion: a write that changes nothing keeps it. */
const apply = async (folder: string): Promise<{ versions: string; warnings: string }> => {
  const output = '--output=jsonpath={.kind}/{.metadata.name}@{.metadata.resourceVersion}{"\\n"}'
  const admin = `--kubeconfig=${cluster.kubeconfig}`
  const { stdout, stderr } = await kubectl(admin, 'apply', '--server-side', '-k', folder, output)
  return { versions: stdout, warnings: stderr }
}

const acceptsTwice = async (folder: string) => {
  const first = await apply(folder)
  // The namespace warns of every pod that isn't restricted, so this also says that all of ours are.
  expect(first.warnings).toBe('')
  expect(first.versions).not.toBe('')
  expect(await apply(folder)).toEqual(first)
}

test('the dev overlay is taken without a warning, and once more without a change', async () => {
  await acceptsTwice('kustomize/overlays/dev')
})

describe('on a cluster that is not for trying out', () => {
  beforeAll(async () => {
    // Its volume claims can't be changed, and the dev overlay has none.
    await cluster.kubectl('delete', 'statefulset', 'nats', '--namespace=hyperfleet-system', '--ignore-not-found')
  })

  test('the base is taken without a warning, and once more without a change', async () => {
    await acceptsTwice('kustomize/base')
  })

  test.each(['us-east', 'us-west', 'default', 'nodepools'])(
    'the shard %s is taken without a warning, and once more without a change',
    async (shard) => {
      await acceptsTwice(`kustomize/shards/${shard}`)
    },
  )

  test('the samples are taken without a warning, and once more without a change', async () => {
    await acceptsTwice('kustomize/samples')
  })

  test('the stage overlay is taken without a warning, and once more without a change', async () => {
    await acceptsTwice('kustomize/overlays/stage')
  })

  test('each shard’s Deployment works on the SentinelConfig that comes with it', async () => {
    const flags = await cluster.kubectl(
      'get',
      'deployments',
      '--namespace=hyperfleet-system',
      '--selector=app.kubernetes.io/name=hyperfleet-sentinel',
      '--output=jsonpath={range .items[*]}{.spec.template.spec.containers[0].args[0]}{"\\n"}{end}',
    )
    const configs = await cluster.kubectl(
      'get',
      'sentinelconfigs',
      '--namespace=hyperfleet-system',
      '--output=jsonpath={range .items[*]}--config={.metadata.name}{"\\n"}{end}',
    )
    expect(flags.split('\n').toSorted()).toEqual(configs.split('\n').toSorted())
    expect(configs).toMatchInlineSnapshot(`
      "--config=cluster-sentinel-default
      --config=cluster-sentinel-us-east
      --config=cluster-sentinel-us-west
      --config=nodepool-sentinel
      "
    `)
  })
})
