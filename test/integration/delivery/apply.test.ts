import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parsePin, withPins } from '#hack/pin/images.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { MONITORING, monitoringKind } from '#test/harness/monitoring.ts'
import { kubectl, kustomizations } from './kustomize.ts'
import type { Manifest } from './rules/manifest.ts'
import { workloadOf } from './rules/workload.ts'

/** An overlay is a hundred objects, and other tests may keep the machine busy. */
vi.setConfig({ testTimeout: 240_000 })

/** The manifests name their namespace, so they need a cluster of their own. */
let cluster: OwnControlPlane

beforeAll(async () => {
  cluster = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
  samples = await samplesFile()
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

/** All samples in one file, each once, although some folders have others in them. */
let samples: string

const samplesFile = async (): Promise<string> => {
  const folders = kustomizations().filter((folder) => folder.startsWith('kustomize/samples'))
  const builds = await Promise.all(folders.map((folder) => kubectl('kustomize', folder)))
  const file = join(await temporaryFolder('samples'), 'samples.yaml')
  await writeFile(file, [...new Set(builds.flatMap(({ stdout }) => stdout.split(/^---$/m)))].join('---\n'))
  return file
}

/** As a dry run applies them. */
const acceptsSamples = async () => {
  const admin = `--kubeconfig=${cluster.kubeconfig}`
  const { stdout, stderr } = await kubectl(admin, 'apply', '--server-side', '--dry-run=server', '-f', samples)
  expect(stderr).toBe('')
  expect(stdout).toContain('clusterdeployment.hive.openshift.io/austin')
}

test('the dev overlay is taken without a warning, and once more without a change', async () => {
  await acceptsTwice('kustomize/overlays/dev')
})

test('the kinds of dev take every sample', async () => {
  await acceptsSamples()
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

  test.each(['kustomize/fleet', 'kustomize/samples/fleet'])(
    '%s is taken without a warning, and once more without a change',
    async (folder) => {
      await acceptsTwice(folder)
    },
  )

  test('the stage overlay is taken without a warning, and once more without a change', async () => {
    await acceptsTwice('kustomize/overlays/stage')
  })

  test('the kinds and policies of stage take every sample', async () => {
    await acceptsSamples()
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

/** The pod that a workload's controller would make; a StatefulSet's has a volume for each of its claims. */
const podOf = (object: Manifest): object | undefined => {
  const workload = workloadOf(object)
  if (workload === undefined) return undefined
  const { volumes = [], ...pod } = workload.template.spec
  const claimed = (workload.volumeClaimTemplates ?? []).map(({ metadata: { name } }) => ({
    name,
    persistentVolumeClaim: { claimName: name },
  }))
  return { ...pod, volumes: [...volumes, ...claimed] }
}

/** The pods of the Jobs that an AdapterTask makes. */
const podsOfTask = ({ kind, spec }: Manifest): readonly object[] => {
  if (kind !== 'AdapterTask') return []
  const { resources = [] } = spec as { resources?: readonly { manifest?: Manifest }[] }
  return resources.flatMap(({ manifest }) =>
    manifest?.kind === 'Job' ? [(manifest.spec as { template: { spec: object } }).template.spec] : [],
  )
}

describe('on a cluster for production', () => {
  let prod: string
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const NAMESPACE = 'hyperfleet-system'

  beforeAll(async () => {
    for (const kind of MONITORING) await cluster.rest('POST', crds, monitoringKind(kind))
    await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crds', '--all')
    const repository = await temporaryFolder('pinned')
    for (const folder of ['kustomize', 'manifests']) await cp(folder, join(repository, folder), { recursive: true })
    prod = join(repository, 'kustomize/overlays/prod')
    const file = join(prod, 'kustomization.yaml')
    const digest = `sha256:${'a'.repeat(64)}`
    const pins = [`muster=registry.example.com/muster@${digest}`, `nats=docker.io/library/nats@${digest}`].map(parsePin)
    await writeFile(file, withPins(await readFile(file, 'utf8'), pins))
  })

  test('the prod overlay with its images pinned is taken without a warning, and once more without a change', async () => {
    await acceptsTwice(prod)
  })

  test('before they are pinned its workloads are refused, with the words that say what to do', async () => {
    await expect(apply('kustomize/overlays/prod')).rejects.toThrow('npm run pin')
  })

  test('its kinds and policies take every sample, once more without a change', async () => {
    await acceptsSamples()
    await acceptsTwice('kustomize/samples')
  })

  test('attack: a pod in its namespace is root, privileged, or has what the node has; it admits every pod of it and of the sample tasks, and none of these', async () => {
    const built = await Promise.all([prod, 'kustomize/samples'].map((folder) => kubectl('kustomize', folder)))
    const objects = built.flatMap(({ stdout }) => loadAll(stdout) as Manifest[])
    const pods = objects.flatMap((object) => podOf(object) ?? podsOfTask(object))
    expect(pods.length).toBeGreaterThan(11)
    // Kubernetes makes it, by a controller that does not run here.
    await cluster.kubectl('create', 'serviceaccount', 'default', '-n', NAMESPACE)
    const create = (spec: object) =>
      cluster.rest('POST', `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`, {
        metadata: { generateName: 'pod-' },
        spec,
      })
    for (const pod of pods) await create(pod)
    const restricted = {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'one',
          image: 'one',
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    }
    await create(restricted)
    const [container] = restricted.containers
    const withContext = (more: object) => ({
      ...restricted,
      containers: [{ ...container, securityContext: { ...container?.securityContext, ...more } }],
    })
    const attacks = [
      { containers: [{ name: 'one', image: 'one' }] },
      withContext({ runAsUser: 0 }),
      withContext({ runAsNonRoot: false }),
      withContext({ privileged: true, allowPrivilegeEscalation: true }),
      withContext({ capabilities: { add: ['NET_ADMIN'] } }),
      { ...restricted, hostNetwork: true },
      { ...restricted, hostPID: true },
      { ...restricted, volumes: [{ name: 'node', hostPath: { path: '/' } }] },
    ]
    for (const attack of attacks)
      await expect(create(attack), JSON.stringify(attack)).rejects.toThrow('violates PodSecurity')
  })
})
