/** What a kind cluster is given, taken by an API server: kind itself is not to be had everywhere. */
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { gitRepository } from '#test/harness/git.ts'
import { argoFolder } from '#test/harness/ground/kind.ts'
import { withManagers } from '#test/harness/ground/managers.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'

interface Workload {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly object[]; readonly volumes?: readonly object[] }
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

test('Argo CD’s own manifests, with a repo-server that reads the repositories of the node', async () => {
  const folder = await argoFolder('/repositories', 3)
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
  const server = installed.find(({ metadata }) => metadata.name === 'argocd-repo-server')?.spec.template.spec
  expect(server?.volumes).toContainEqual({
    name: 'repositories',
    hostPath: { path: '/repositories', type: 'Directory' },
  })
  expect(server?.containers[0]).toMatchObject({
    image: expect.stringMatching(/^quay\.io\/argoproj\/argocd:v3\./),
    volumeMounts: expect.arrayContaining([{ name: 'repositories', mountPath: '/repositories', readOnly: true }]),
  })
})

test('the environment of developers, with every manager as a pod', async () => {
  const git = await gitRepository()
  await git.take('kustomize', 'manifests')
  const files = withManagers(await git.read(join(OVERLAY, 'kustomization.yaml')), [
    'sentinels',
    'adapters',
    'pools',
    'clusters',
    'devices',
    'fleet',
  ])
  const paths = Object.entries(files).map(([path, text]) => [join(OVERLAY, path), text])
  await git.commit('Managers', Object.fromEntries(paths))
  const folder = join(git.folder, OVERLAY)
  await cluster.kubectl('create', 'namespace', 'hyperfleet-system')
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
  const sentinel = deployed.find(({ metadata }) => metadata.name === 'sentinel')?.spec.template.spec
  expect(JSON.stringify(sentinel)).not.toContain('--config=')
})
