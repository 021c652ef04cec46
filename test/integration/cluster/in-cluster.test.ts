/** What a kind cluster is given, taken by an API server: kind itself is not to be had everywhere. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { imageTags } from '#hack/image/local/images.ts'
import { TASK_ACCOUNTS, TASK_WORK } from '#hack/muster/managers.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { gitRepository } from '#test/harness/git.ts'
import { argoFolder } from '#test/harness/ground/kind/argocd.ts'
import { deviceKeys, devicePods, gitServer, postgresServer } from '#test/harness/ground/kind/pods.ts'
import { withManagers, withVolumes } from '#test/harness/ground/managers.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'

interface Container {
  readonly image: string
}

interface Workload {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly Container[]; readonly initContainers?: readonly Container[] }
    }
  }
}

const OVERLAY = 'kustomize/overlays/dev'

let cluster: OwnControlPlane

beforeAll(async () => {
  cluster = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
})
afterAll(() => cluster?.stop())

const workloads = (text: string): readonly Workload[] =>
  (loadAll(text) as Workload[]).filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind))

const imagesOf = (installed: readonly Workload[]): readonly string[] =>
  installed.flatMap(({ spec: { template } }) =>
    [...template.spec.containers, ...(template.spec.initContainers ?? [])].map(({ image }) => image),
  )

test('Argo CD’s own manifests, with images that are never asked for again', async () => {
  const folder = await argoFolder(3)
  await cluster.kubectl('create', 'namespace', 'argocd')
  const applied = await cluster.kubectl('apply', '--server-side', '--dry-run=server', '--kustomize', folder)
  expect(applied).toContain('applications.argoproj.io')
  const installed = workloads(await cluster.kubectl('kustomize', folder))
  expect(installed.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()).toEqual([
    'Deployment argocd-applicationset-controller',
    'Deployment argocd-redis',
    'Deployment argocd-repo-server',
    'StatefulSet argocd-application-controller',
  ])
  for (const { spec } of installed)
    expect(spec.template.spec.containers[0]).toMatchObject({ imagePullPolicy: 'IfNotPresent' })
  expect(imageTags()).toEqual(expect.arrayContaining([...imagesOf(installed)]))
})

test('the environment of developers with data in volumes and every manager as a pod, of images that are made here', async () => {
  const git = await gitRepository()
  await git.take('kustomize', 'manifests')
  const text = withVolumes(await git.read(join(OVERLAY, 'kustomization.yaml')))
  const files = withManagers(text, ['sentinels', 'adapters', 'pools', 'clusters', 'devices', 'fleet'])
  const paths = Object.entries(files).map(([path, text]) => [join(OVERLAY, path), text])
  await git.commit('Managers', Object.fromEntries(paths))
  const folder = join(git.folder, OVERLAY)
  for (const namespace of ['hyperfleet-system', TASK_ACCOUNTS, TASK_WORK])
    await cluster.kubectl('create', 'namespace', namespace)
  await cluster.kubectl('apply', '--server-side', '--force-conflicts', '--dry-run=server', '--kustomize', folder)
  const deployed = workloads(await cluster.kubectl('kustomize', folder))
  expect(deployed.map(({ metadata }) => metadata.name).toSorted()).toMatchInlineSnapshot(`
    [
      "fleet-operator",
      "hyperfleet-adapter",
      "hyperfleet-api",
      "hyperfleet-clusterdeployment",
      "hyperfleet-clusterdevice",
      "hyperfleet-clusterpool",
      "nats",
      "sentinel",
    ]
  `)
  expect(imageTags()).toEqual(expect.arrayContaining([...imagesOf(deployed)]))
  const sentinel = deployed.find(({ metadata }) => metadata.name === 'sentinel')?.spec.template.spec
  expect(JSON.stringify(sentinel)).not.toContain('--config=')
})

test('what stands beside the suite: Git, PostgreSQL and a device, in namespaces that allow no privileges', async () => {
  const devices = { 'gate-1': 'example.com/role=greeter' }
  const [image = ''] = imageTags()
  const nats = { url: 'tls://nats', ca: 'certificates', keys: deviceKeys(Object.keys(devices)) }
  const pods = [
    ...gitServer(),
    ...(await postgresServer('secret')),
    ...devicePods({ image, nats, publicKeys: 'keys', devices }),
  ]
  const namespaced = pods.filter(({ kind }) => kind !== 'Namespace')
  for (const one of pods.filter(({ kind }) => kind === 'Namespace')) {
    const { name } = one.metadata as { readonly name: string }
    await cluster.rest('POST', '/api/v1/namespaces', one)
    await cluster.rest('POST', `/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: 'default' } })
  }
  const deployed = workloads(namespaced.map((one) => JSON.stringify(one)).join('\n---\n'))
  expect(imageTags()).toEqual(expect.arrayContaining([...imagesOf(deployed)]))
  for (const { metadata, spec } of deployed) {
    const path = `/api/v1/namespaces/${metadata.namespace}/pods?dryRun=All`
    await cluster.rest('POST', path, { metadata: { name: metadata.name }, spec: spec.template.spec })
  }
  const file = join(await temporaryFolder('pods'), 'pods.json')
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: namespaced }))
  await cluster.kubectl('apply', '--server-side', '--dry-run=server', '--filename', file)
})
