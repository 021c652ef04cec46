/**
 * The YAML of the descriptions that Muster was written by, as it stands there: each document is applied to a real API server and behaves,
 * or the test shows why it can only be an illustration.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load, loadAll } from 'js-yaml'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { freePort } from '#hack/process/ports.ts'
import { systemClock } from '#operator/index.ts'
import { apiVersionOf, type KubeObject, pathOf, type Resource } from '#operator/model/resource.ts'
import { type OwnControlPlane, startControlPlane, startMuster } from '#test/harness/index.ts'
import { refusalOf } from '../apis/refusal.ts'
import { type HyperFleetApi, startHyperFleet } from '../sentinel/hyperfleet.ts'
import { PATIENCE } from '../sentinel/world.ts'

vi.setConfig({ testTimeout: 120_000 })

const FOLDER = join(import.meta.dirname, 'documents')
const NAMESPACE = 'hyperfleet-system'
const OUR_RIGHTS = join(import.meta.dirname, '..', '..', '..', 'kustomize', 'base', 'rbac', 'sentinel.yaml')

let cluster: OwnControlPlane
let api: HyperFleetApi

beforeAll(async () => {
  cluster = await startControlPlane()
  api = await startHyperFleet(systemClock)
  await cluster.rest('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
}, 120_000)

afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await cluster.stop()
})

const fileOf = (name: string) => join(FOLDER, `${name}.yaml`)
const textOf = (name: string) => readFile(fileOf(name), 'utf8')
const apply = (file: string) => cluster.kubectl('apply', `--namespace=${NAMESPACE}`, '-f', file)
const refused = async (file: string): Promise<string> => {
  const error: Error = await apply(file).then(
    () => new Error('it was taken'),
    (cause: Error) => cause,
  )
  return error.message
}
const create = <S extends object>(resource: Resource, name: string, spec: object): Promise<KubeObject<S, object>> =>
  cluster.rest('POST', `${pathOf(resource, { namespace: NAMESPACE })}?fieldValidation=Strict`, {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name },
    spec,
  })
const configOf = (name: string): Promise<SentinelConfig> =>
  cluster.rest('GET', pathOf(SentinelConfig, { namespace: NAMESPACE, name }))
const reasonOf = async (name: string) =>
  (await configOf(name)).status?.conditions?.find(({ type }) => type === 'Ready')?.reason
const until = (name: string, reason: string) =>
  vi.waitFor(async () => expect(await reasonOf(name)).toBe(reason), { ...PATIENCE, timeout: 60_000 })
const dropConfigs = () => cluster.kubectl('delete', 'sentinelconfigs', '--all', `--namespace=${NAMESPACE}`)

/** What the file of the image starts: test/integration/image. Ports are ours: this machine has other processes. */
const startSentinel = async (args: readonly string[], ...more: readonly string[]) =>
  startMuster([
    'manager',
    '--controllers=sentinel',
    ...args,
    '--metrics-bind-address=0',
    `--kubeconfig=${await cluster.kubeconfigFor('hyperfleet-sentinel', NAMESPACE)}`,
    ...more,
  ])

test('every document is told of in this file', async () => {
  const tests = await readFile(import.meta.filename, 'utf8')
  for (const file of await readdir(FOLDER)) expect(tests).toContain(`'${file.replace('.yaml', '')}'`)
})

test('rbac: the account and its Role are taken; with no more than these a manager says which rights it lacks, and ours are these and more', async () => {
  await apply(fileOf('rbac'))
  await using poor = await startSentinel([`--namespace=${NAMESPACE}`, '--health-probe-bind-address=0'])
  expect(await poor.exited).toMatchObject({ code: 1 })
  expect(poor.output()).toContain('may not get, create, update leases')
  // Beyond the description: Leases for replicas that stand by, events, and the status.
  const rulesOf = async (file: string) =>
    (loadAll(await readFile(file, 'utf8')) as { kind: string; rules?: Record<string, string[]>[] }[])
      .filter(({ kind }) => kind === 'Role')
      .flatMap(({ rules = [] }) => rules)
      .flatMap(({ apiGroups = [], resources = [], verbs = [] }) =>
        verbs.map((verb) => `${verb} ${resources.join()}.${apiGroups.join()}`),
      )
  expect(await rulesOf(OUR_RIGHTS)).toEqual(expect.arrayContaining(await rulesOf(fileOf('rbac'))))
  await apply(OUR_RIGHTS)
})

test('sentinel-config: it is stored as it is written, and the Sentinel takes it as it is', async () => {
  await apply(fileOf('sentinel-config'))
  const written = load(await textOf('sentinel-config')) as SentinelConfig
  const { spec } = await configOf('cluster-sentinel-us-east')
  expect(spec).toEqual(written.spec)
  await using sentinel = await startSentinel([`--namespace=${NAMESPACE}`, '--health-probe-bind-address=0'])
  await sentinel.line('caches are filled')
  // That host is in the cluster; from here only its name can be asked for.
  await until('cluster-sentinel-us-east', 'APIUnreachable')
  const { status } = await configOf('cluster-sentinel-us-east')
  expect(status?.shard).toBe('region=us-east')
  // The document has the address of releases without TLS, which means the same API: API-180.
  expect(written.spec.hyperfleetAPI?.url).toBe('http://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080')
  const asked = 'https://hyperfleet-api.hyperfleet-system.svc.cluster.local/api/hyperfleet/v1/clusters'
  expect(status?.lastError).toContain(asked)
  await dropConfigs()
})

test('shards: the SentinelConfigs work as they are; the Deployments leave out what no API server takes them without', async () => {
  const message = await refused(fileOf('shards'))
  const deployments = message.match(/\w+\.?\w* "\S+" is invalid/g)
  expect(deployments).toEqual([
    'Deployment.apps "cluster-sentinel-us-east" is invalid',
    'Deployment.apps "cluster-sentinel-us-west" is invalid',
  ])
  expect(message).toContain('spec.selector: Required value')
  expect(message).toContain('spec.template.spec.containers[0].image: Required value')

  const namespace = `--namespace=${NAMESPACE}`
  await using _sentinel = await startSentinel(
    [namespace, '--health-probe-bind-address=0'],
    `--hyperfleet-api-url=${api.url}`,
  )
  await until('cluster-sentinel-us-east', 'Watching')
  await until('cluster-sentinel-us-west', 'Watching')
  await until('nodepool-sentinel', 'Watching')
  expect((await configOf('cluster-sentinel-us-west')).spec).toMatchObject({
    backoffNotReady: '15s',
    backoffReady: '1h',
  })
  await api.create('eastern', { region: 'us-east' })
  await api.create('western', { region: 'us-west' })
  const sources = () => api.pulses.map(({ source = '' }) => source).toSorted()
  await vi.waitFor(
    () =>
      expect(sources()).toEqual([
        'hyperfleet-sentinel/cluster-sentinel-us-east',
        'hyperfleet-sentinel/cluster-sentinel-us-west',
      ]),
    PATIENCE,
  )
  await dropConfigs()
})

test('deployment: the API server takes it, its command line runs, and its probes are answered', async () => {
  await apply(fileOf('deployment'))
  interface Container {
    readonly command: readonly string[]
    readonly args: readonly string[]
    readonly livenessProbe: { readonly httpGet: { readonly path: string } }
    readonly readinessProbe: { readonly httpGet: { readonly path: string } }
  }
  const { spec } = await cluster.rest<{ spec: { template: { spec: { containers: readonly Container[] } } } }>(
    'GET',
    `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/cluster-sentinel`,
  )
  const [container] = spec.template.spec.containers
  if (container === undefined) throw new Error('the Deployment has no container')
  expect(container.command).toEqual(['/sentinel'])
  const port = await freePort()
  const probe = async ({ httpGet: { path } }: { readonly httpGet: { readonly path: string } }) =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).status
  await using sentinel = await startSentinel(
    container.args,
    `--health-probe-bind-address=127.0.0.1:${port}`,
    `--hyperfleet-api-url=${api.url}`,
  )
  await sentinel.line('caches are filled')
  expect(await probe(container.livenessProbe)).toBe(200)
  // Its SentinelConfig is not part of the description.
  expect(await probe(container.readinessProbe)).not.toBe(200)
  await create(SentinelConfig, 'cluster-sentinel-default', { resourceType: 'clusters' })
  await until('cluster-sentinel-default', 'Watching')
  expect(await probe(container.readinessProbe)).toBe(200)
  await dropConfigs()
})

test('default-shard, regional-isolation, non-overlapping-selectors: the fields of a spec are taken; what has names of its own is a sketch', async () => {
  const names = ['default-shard', 'regional-isolation'] as const
  for (const name of names) {
    const fields = load(await textOf(name)) as object
    const { spec } = await create<object>(SentinelConfig, name, { resourceType: 'clusters', ...fields })
    expect(spec).toMatchObject(fields)
  }
  await dropConfigs()
  // shard1 and shard2 stand there twice, for two ways to write selectors: no YAML parser takes a key twice.
  const sketch = await textOf('non-overlapping-selectors')
  expect(() => load(sketch)).toThrow('duplicated mapping key')
})

const POOL = {
  platform: { vsphere: { vCenter: 'vcenter.example.com', datacenter: 'dc1' } },
  baseDomain: 'example.com',
  imageSetRef: { name: 'openshift-v4.20' },
  size: 3,
}

test.for(['pool-inventory', 'how-to-inventory'])('%s: a pool takes this inventory', async (name) => {
  const { spec } = load(await textOf(name)) as { spec: object }
  expect((await create<object>(ClusterPool, name, { ...POOL, ...spec })).spec).toMatchObject(spec)
})

test('customization, customization-patches: the spec is taken, in the group that the kind has', async () => {
  expect(await refused(fileOf('customization'))).toContain(
    'no matches for kind "ClusterDeploymentCustomization" in version "v1"',
  )
  type Customization = KubeObject<object, object>
  const { spec, status } = load(await textOf('customization')) as Customization
  const { spec: patches } = load(await textOf('customization-patches')) as Customization
  expect(spec).toEqual(patches)
  expect((await create<object>(ClusterDeploymentCustomization, 'foo', spec)).spec).toMatchObject(spec)
  // YAML reads False as a truth value, and Kubernetes has conditions with texts.
  const place = pathOf(ClusterDeploymentCustomization, { namespace: NAMESPACE, name: 'foo' })
  expect(await refusalOf(cluster.rest('PATCH', `${place}/status`, { status }))).toContain('status.conditions[0].status')
})

test('how-to-patch: it lacks an indentation, so there is no spec in it; indented it is customization-patches', async () => {
  const text = await textOf('how-to-patch')
  expect(load(text)).toMatchObject({ spec: null })
  const indented = text.replaceAll(/^(?!spec)/gm, '  ')
  expect(load(indented)).toEqual(load(await textOf('customization-patches')))
})

test('when-deleting: a task has this field', async () => {
  const fields = load(await textOf('when-deleting')) as object
  const task = {
    adapter: { name: 'a' },
    resourceType: 'clusters',
    serviceAccountName: 'a',
    hyperfleetAPI: { url: api.url },
    resources: [],
  }
  expect((await create<object>(AdapterTask, 'when-deleting', { ...task, ...fields })).spec).toMatchObject(fields)
})

test('crd: in the place of ours it is enough for the Sentinel, which then has no status to write', async () => {
  await cluster.kubectl('replace', '-f', fileOf('crd'))
  await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', '-f', fileOf('crd'))
  await using sentinel = await startSentinel(
    [`--namespace=${NAMESPACE}`, '--health-probe-bind-address=0'],
    `--hyperfleet-api-url=${api.url}`,
  )
  await sentinel.line('caches are filled')
  const text = (await textOf('sentinel-config')).replace(/url: .*/, `url: ${api.url}`)
  await cluster.rest('POST', pathOf(SentinelConfig, { namespace: NAMESPACE }), load(text) as object)
  const id = await api.create('of-the-first-crd', { region: 'us-east' })
  expect(await sentinel.line(({ msg, id: of }) => msg === 'sentinel: pulsed' && of === id)).toMatchObject({
    reason: 'New',
  })
})
