/** The provider `hosted`, kustomize/providers/hosted, as it is delivered: control planes as pods, of which a stand-in runs the programs. */
import { connect } from 'node:tls'
import { loadAll } from 'js-yaml'
import { request } from 'undici'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { signLeaf } from '#operator/admission/certificates.ts'
import { type AdapterWorld, adapterWorld, type Cluster, type Manager } from '../adapter/world.ts'
import { commandsWith, readPage } from '../docs/page.ts'
import { deliver, letIn, markAsOfPool, OF_A_POOL } from './delivered.ts'
import { type Kubelet, startKubelet } from './kubelet.ts'
import { clientOf, namespacesOf, PATIENCE } from './world.ts'

vi.setConfig({ testTimeout: 240_000 })

const ADAPTER = 'cluster-hosted'
/** The folders that docs/providers.md has a person apply: the provider, and a pool of it. */
const [PROVIDER = '', POOL = ''] = commandsWith(await readPage('docs/providers.md'), 'kustomize/providers/hosted\n')
  .split('\n')
  .map((command) => /^kubectl apply -k (\S+)$/.exec(command)?.[1] ?? '')
const HOSTED = { folder: PROVIDER, name: ADAPTER }

let world: AdapterWorld
/** Of the first cluster: that of its namespace, as a pool names it. */
let name: string
let kubelet: Kubelet
let manager: Manager

beforeAll(async () => {
  world = await adapterWorld({ accountsApart: true })
  const { plane, namespace } = world
  name = namespace
  await plane.rest('PATCH', `/api/v1/namespaces/${namespace}`, {
    metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  })
  await deliver(world, HOSTED)
  manager = await world.manager()
  await vi.waitFor(async () => expect(await readiness()).toMatch(/^Working/), PATIENCE)
  kubelet = await startKubelet(plane, namespace)
})

afterAll(async () => {
  await kubelet?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

const readiness = async (): Promise<string | undefined> =>
  (await world.task(ADAPTER)).status?.conditions?.find(({ type }) => type === 'Ready')?.reason

const RBAC = '/apis/rbac.authorization.k8s.io/v1'

const specOf = (cluster: string, more: object): object => ({
  clusterDeployment: { namespace: world.namespace, name: cluster },
  powerState: 'Running',
  imageSet: 'kubernetes-v1.36.3',
  installConfig: { networking: { serviceNetwork: ['10.9.0.0/24'] } },
  ...more,
})

const objects = (path: string) => world.object(path.replace('NS', world.namespace))

const secretOf = async (secret: string): Promise<Readonly<Record<string, string>> | undefined> =>
  ((await objects(`/api/v1/namespaces/NS/secrets/${secret}`)) as { data?: Record<string, string> } | undefined)?.data

/** The admin's, with a server that is reached from here: only pods know the Service's name. */
const kubeconfig = async (): Promise<string> => {
  const text = Buffer.from((await secretOf(`${name}-admin-kubeconfig`))?.kubeconfig ?? '', 'base64').toString()
  expect(text).toContain(`https://${name}-api.${world.namespace}.svc:6443`)
  return Buffer.from(text.replace(/https:.*:6443/, `https://127.0.0.1:${kubelet.port}`)).toString('base64')
}

const untilReady = (id: string) =>
  vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)

const change = async (more: object): Promise<void> => {
  await world.call('PATCH', `/clusters/${first.id}`, { spec: specOf(name, more) })
  await world.pulse(first.id)
  await untilReady(first.id)
}

const report = async (id: string): Promise<string> =>
  JSON.stringify(await world.call('GET', `/clusters/${id}/statuses`))

let first: Cluster

test('CLUSTER-24: in a namespace that no pool made the task can make nothing, and says so', async () => {
  // Whatever lets it in: here as if a pool did. A policy is in force a while after it was made.
  await letIn(world, HOSTED)
  const asTheTask = ['--as', `system:serviceaccount:${world.accounts}:${ADAPTER}`, '-n', world.namespace]
  await vi.waitFor(async () => {
    const refused = world.plane.kubectl('create', 'secret', 'generic', 'any', '--dry-run=server', ...asTheTask)
    await expect(refused).rejects.toThrow('was made by no ClusterPool')
  }, PATIENCE)
  first = await world.create(name, specOf(name, {}), { provider: 'hosted', ...OF_A_POOL })
  await world.pulse(first.id)
  await vi.waitFor(async () => expect(await report(first.id)).toContain('was made by no ClusterPool'), PATIENCE)
})

test('the pool that comes with it is taken as it is delivered, and its clusters are for this provider', async () => {
  const { plane, namespace } = world
  const text = await plane.kubectl('kustomize', POOL)
  const manifests = loadAll(text.replaceAll('hyperfleet-system', namespace)) as {
    kind: string
    spec: { labels?: object }
  }[]
  const taken = []
  for (const manifest of manifests) {
    const path = `/apis/hive.openshift.io/v1/namespaces/${namespace}/${manifest.kind.toLowerCase()}s`
    taken.push(await plane.rest<typeof manifest>('POST', `${path}?fieldValidation=Strict`, manifest))
  }
  expect(taken.find(({ kind }) => kind === 'ClusterPool')?.spec.labels).toEqual({ provider: 'hosted' })
})

test('of a cluster that no pool made the task makes nothing, and says so', async () => {
  const { id } = await world.create('alone', specOf('alone', {}), { provider: 'hosted' })
  await world.pulsedUntil(id, async () => expect(await report(id)).toContain('clustersOfPoolsOnly'))
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())
})

test('a cluster of another provider is left alone, and is Ready at once', async () => {
  const other = await world.create('elsewhere', specOf('elsewhere', {}), { provider: 'another' })
  await world.pulse(other.id)
  await untilReady(other.id)
  expect(await kubelet.pods()).toEqual([])
})

test('CLUSTER-24, CLUSTER-25: a cluster of a pool gets pods that a restricted namespace takes, and a kubeconfig that works', async () => {
  await markAsOfPool(world)
  await world.pulsedUntil(first.id, async () => expect((await world.cluster(first.id))?.status.phase).toBe('Ready'))
  const admin = await kubeconfig()
  expect(await namespacesOf(admin)).toContain('kube-system')
  const kubernetes = await clientOf(admin).readNamespacedService({ name: 'kubernetes', namespace: 'default' })
  expect(kubernetes.spec?.clusterIP).toBe('10.9.0.1')
  // Its controllers are let in as well: they make the account of each namespace.
  await vi.waitFor(
    () => clientOf(admin).readNamespacedServiceAccount({ name: 'default', namespace: 'default' }),
    PATIENCE,
  )
  await clientOf(admin).createNamespacedConfigMap({
    namespace: 'default',
    body: { metadata: { name: 'kept' }, data: { by: 'the test' } },
  })
})

test('CLUSTER-25: without credentials its health is told, and nothing else; its authority’s key is in no pod', async () => {
  const { Agent } = await import('undici')
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
  const ask = async (path: string) => {
    const { statusCode, body } = await request(`https://127.0.0.1:${kubelet.port}${path}`, { dispatcher })
    await body.dump()
    return statusCode
  }
  expect([await ask('/readyz'), await ask('/api'), await ask('/version')]).toEqual([200, 401, 401])
  const pods = JSON.stringify(await kubelet.pods())
  expect(pods).toContain('service-account.key')
  expect(pods).not.toContain('ca.key')
})

test('CLUSTER-25: the account of the certificates may read and patch the two Secrets of its cluster, and nothing else', async () => {
  const as = ['--as', `system:serviceaccount:${world.namespace}:${name}-certificates`, '-n', world.namespace]
  const may = (...args: string[]) =>
    world.plane.kubectl('auth', 'can-i', ...args, ...as).then(
      () => true,
      () => false,
    )
  expect(await may('patch', `secrets/${name}-pki`)).toBe(true)
  expect(await may('get', `secrets/${name}-admin-kubeconfig`)).toBe(true)
  const none = [
    ['get', 'secrets/another'],
    ['list', 'secrets'],
    ['create', 'secrets'],
    ['delete', `secrets/${name}-pki`],
    ['create', 'pods'],
  ]
  for (const args of none) expect([args, await may(...args)]).toEqual([args, false])
})

const controlPlanes = async () =>
  (await kubelet.pods()).filter(({ metadata }) => metadata.labels['hosted-cluster'] !== undefined)

const kept = async () =>
  (await clientOf(await kubeconfig()).readNamespacedConfigMap({ name: 'kept', namespace: 'default' })).data

test('CLUSTER-26: hibernated, no pod of it runs and its data stay; it wakes up with them, and its kubeconfig is the same', async () => {
  const before = await secretOf(`${name}-admin-kubeconfig`)
  await change({ powerState: 'Hibernating' })
  expect(await controlPlanes()).toEqual([])
  await vi.waitFor(() => expect(kubelet.running()).toEqual([]), PATIENCE)
  await change({ powerState: 'Running' })
  expect(await kept()).toEqual({ by: 'the test' })
  expect(await secretOf(`${name}-admin-kubeconfig`)).toEqual(before)
})

/** When the certificate ends by which its API server is known to clients now: days from now. */
const servedFor = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: kubelet.port, rejectUnauthorized: false }, () => {
      resolve((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / (24 * 3_600_000))
      socket.end()
    })
    socket.once('error', reject)
  })

test('CLUSTER-96: certificates that are about to expire are renewed by the next Job, in the Secrets and in the API server, whose pod stays', async () => {
  const [before, kubeconfigBefore] = [await controlPlanes(), await kubeconfig()]
  const files = Object.entries((await secretOf(`${name}-pki`)) ?? {})
  const pki = Object.fromEntries(files.map(([file, text]) => [file, Buffer.from(text, 'base64').toString()]))
  const authority = { certificate: pki['ca.crt'] ?? '', key: pki['ca.key'] ?? '' }
  // Of an hour 40 minutes are over.
  const old = (hosts: readonly string[], subject: string) =>
    signLeaf(authority, hosts, Date.now() - 2_500_000, { lifetimeMs: 3_600_000, subject, isClient: hosts.length === 0 })
  const [server, admin] = [await old(['127.0.0.1'], 'CN=kube-apiserver'), await old([], 'O=system:masters, CN=admin')]
  await world.plane.rest('PATCH', `/api/v1/namespaces/${world.namespace}/secrets/${name}-pki`, {
    stringData: {
      'apiserver.crt': server.certificate,
      'apiserver.key': server.key,
      'admin.crt': admin.certificate,
      'admin.key': admin.key,
    },
  })
  await vi.waitFor(async () => expect(await servedFor()).toBeLessThan(1), PATIENCE)

  // A month after it ended, Kubernetes deletes it.
  await world.plane.rest(
    'DELETE',
    `/apis/batch/v1/namespaces/${world.namespace}/jobs/${name}-certificates?propagationPolicy=Foreground`,
  )
  await vi.waitFor(async () => expect(await servedFor()).toBeGreaterThan(300), PATIENCE)
  expect(await kubeconfig()).not.toBe(kubeconfigBefore)
  expect(await kept()).toEqual({ by: 'the test' })
  expect((await controlPlanes()).map(({ metadata }) => metadata.uid)).toEqual(
    before.map(({ metadata }) => metadata.uid),
  )
})

test('CLUSTER-51: an image set that names no release is told with its name, and the cluster stays as it is', async () => {
  const before = await controlPlanes()
  await world.call('PATCH', `/clusters/${first.id}`, { spec: specOf(name, { imageSet: 'openshift-v4.20' }) })
  await world.pulse(first.id)
  await vi.waitFor(async () => {
    const told = await report(first.id)
    expect(told).toContain('names no release of Kubernetes')
    expect(told).toContain('openshift-v4.20')
  }, PATIENCE)
  const uids = (pods: typeof before) => pods.map(({ metadata }) => metadata.uid)
  expect(uids(await controlPlanes())).toEqual(uids(before))
  expect(await kept()).toEqual({ by: 'the test' })
})

test('CLUSTER-26: another image set is another release, which is there when the cluster is Ready', async () => {
  await change({ imageSet: 'kubernetes-v1.36.4' })
  const [pod] = await controlPlanes()
  const images = [...(pod?.spec.initContainers ?? []), ...(pod?.spec.containers ?? [])].map(({ image }) => image)
  expect(images.filter((image) => image.endsWith(':v1.36.4'))).toHaveLength(2)
  expect(await kept()).toEqual({ by: 'the test' })
})

test('CLUSTER-94, CLUSTER-95: a pod that is lost and that a quota refuses has the cluster no longer Ready, in Kubernetes’ words, without a pulse', async () => {
  const quotas = `/api/v1/namespaces/${world.namespace}/resourcequotas`
  await world.plane.rest('POST', quotas, { metadata: { name: 'full' }, spec: { hard: { pods: '0' } } })
  const [pod] = await controlPlanes()
  await world.plane.rest('DELETE', `/api/v1/namespaces/${world.namespace}/pods/${pod?.metadata.name}`)
  await vi.waitFor(
    async () => expect(await report(first.id)).toMatch(/controlplane .* has no pod that runs: .* exceeded quota: full/),
    PATIENCE,
  )
  expect(await report(first.id)).toContain('"reason":"QuotaExceeded"')
  expect((await world.cluster(first.id))?.status.phase).not.toBe('Ready')
})

test('CLUSTER-92: while a quota refuses its pod, its StatefulSet is changed every half a minute, which has Kubernetes try it again', async () => {
  const awaited = async () => {
    const found = await objects(`/apis/apps/v1/namespaces/NS/statefulsets/${name}-control-plane`)
    return found?.metadata.annotations?.['muster.dev/pod-awaited']
  }
  await world.pulsedUntil(first.id, async () => expect(await awaited()).toMatch(/^[0-9]+$/))
  expect(await controlPlanes()).toEqual([])
  await world.plane.rest('DELETE', `/api/v1/namespaces/${world.namespace}/resourcequotas/full`)
  await world.pulsedUntil(first.id, async () => expect(await controlPlanes()).toHaveLength(1))
  await world.pulsedUntil(first.id, async () => expect(await awaited()).toBeUndefined())
})

/** What there is of the cluster, by the name that its task has for it. */
const made = (): Readonly<Record<string, string>> => ({
  pki: `/api/v1/namespaces/NS/secrets/${name}-pki`,
  kubeconfig: `/api/v1/namespaces/NS/secrets/${name}-admin-kubeconfig`,
  service: `/api/v1/namespaces/NS/services/${name}-api`,
  account: `/api/v1/namespaces/NS/serviceaccounts/${name}-certificates`,
  data: `/api/v1/namespaces/NS/persistentvolumeclaims/${name}-data`,
  controlplane: `/apis/apps/v1/namespaces/NS/statefulsets/${name}-control-plane`,
  certificates: `/apis/batch/v1/namespaces/NS/jobs/${name}-certificates`,
  network: `/apis/networking.k8s.io/v1/namespaces/NS/networkpolicies/${name}-control-plane`,
  role: `${RBAC}/namespaces/NS/roles/${name}-certificates`,
  binding: `${RBAC}/namespaces/NS/rolebindings/${name}-certificates`,
})

const HOLD = 'muster.dev/test'

/** Adds the test's finalizer, or takes it off. */
const hold = async (resource: string, isHeld: boolean): Promise<void> => {
  const path = (made()[resource] ?? '').replace('NS', world.namespace)
  const { finalizers = [] } = (await world.object(path))?.metadata ?? {}
  const others = finalizers.filter((one) => one !== HOLD)
  await world.plane.rest('PATCH', path, { metadata: { finalizers: isHeld ? [...others, HOLD] : others } })
}

/** What of it is gone, or told to go. */
const going = async (): Promise<readonly string[]> => {
  const found = await Promise.all(
    Object.entries(made()).map(async ([resource, path]) => ({ resource, object: await objects(path) })),
  )
  return found
    .filter(({ object }) => object === undefined || object.metadata.deletionTimestamp !== undefined)
    .map(({ resource }) => resource)
    .toSorted()
}

const countRuns = async (): Promise<number> => {
  const metric = manager.registry.getSingleMetric('hyperfleet_adapter_events_processed_total')
  return ((await metric?.get())?.values ?? []).reduce((sum, { value }) => sum + value, 0)
}

/** These and no others are gone or told to go, and whatever else the task does next, it is at it in vain. */
const staysAt = async (...resources: readonly string[]): Promise<void> => {
  // Of Secrets the task learns by pulses alone.
  await world.pulsedUntil(first.id, async () => expect(await going()).toEqual(resources.toSorted()))
  const before = await countRuns()
  // The first may have begun before.
  await world.pulsedUntil(first.id, async () => expect(await countRuns()).toBeGreaterThan(before + 1))
  expect(await going()).toEqual(resources.toSorted())
}

test('CLUSTER-27: released, its Job goes first, then its kubeconfig, its pod, its data and all else, each when the one before is gone; nothing of it is left', async () => {
  expect(await going()).toEqual([])
  const steps = ['certificates', 'kubeconfig', 'controlplane']
  for (const step of steps) await hold(step, true)
  await world.call('DELETE', `/clusters/${first.id}`)
  await world.pulse(first.id, 'Deleting')

  await staysAt('certificates')
  await hold('certificates', false)
  const credentials = ['certificates', 'account', 'role', 'binding', 'kubeconfig']
  await staysAt(...credentials)
  expect(await controlPlanes()).toHaveLength(1)
  await hold('kubeconfig', false)
  await staysAt(...credentials, 'controlplane')
  await hold('controlplane', false)

  await world.pulsedUntil(first.id, async () => expect(await world.cluster(first.id)).toBeUndefined())
  expect(await going()).toHaveLength(Object.keys(made()).length)
  for (const path of Object.values(made())) expect([path, await objects(path)]).toEqual([path, undefined])
  await vi.waitFor(async () => expect(await kubelet.pods()).toEqual([]), PATIENCE)
})
