/** The example of docs/providers.md, examples/provider, as it stands there: clusters of a cloud whose API was not made for Muster. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type AdapterWorld, adapterWorld, type Condition, type Manager } from '../adapter/world.ts'
import { type AcmeWorld, acmeWorld, type Fault, QUOTA, TOKEN } from './acme-world.ts'
import { deliver, letIn, markAsOfPool, OF_A_POOL } from './delivered.ts'
import { PATIENCE } from './world.ts'

vi.setConfig({ testTimeout: 240_000 })

const ADAPTER = 'cluster-acme'
const EXAMPLE = { folder: 'examples/provider', name: ADAPTER }

let acme: AcmeWorld
let world: AdapterWorld
let manager: Manager

beforeAll(async () => {
  acme = await acmeWorld()
  world = await adapterWorld({ accountsApart: true })
  const secrets = await temporaryFolder('provider')
  await writeFile(join(secrets, 'token'), `${TOKEN}\n`, { mode: 0o600 })
  await declareProvider(secrets)
  manager = await world.manager(undefined, { files: [secrets], httpTargets: [`${acme.url}/v1/clusters`] })
  await vi.waitFor(async () => expect(await readiness()).toMatch(/^Working/), PATIENCE)
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await acme?.[Symbol.asyncDispose]()
})

const readiness = async (): Promise<string | undefined> =>
  (await world.task(ADAPTER)).status?.conditions?.find(({ type }) => type === 'Ready')?.reason

/** With the front of the test for the cloud, beside a cluster of a pool. */
const declareProvider = async (secrets: string): Promise<void> => {
  await deliver(world, EXAMPLE, (text) =>
    text.replaceAll('http://127.0.0.1:8480', acme.url).replaceAll('/var/run/secrets/acme', secrets),
  )
  await markAsOfPool(world)
  await letIn(world, EXAMPLE)
}

/** Labels of the records of its clusters. */
const ACME = { provider: 'acme', ...OF_A_POOL }

const specOf = (name: string, powerState = 'Running', namespace = world.namespace) => ({
  clusterDeployment: { namespace, name },
  powerState,
})

/** As the clusterdeployment controller registers one. */
const register = async (name: string, labels: Readonly<Record<string, string>> = ACME, spec: object = specOf(name)) => {
  const { id } = await world.create(name, spec, labels)
  await world.pulse(id)
  return id
}

interface Status {
  readonly adapter: string
  readonly conditions: readonly Condition[]
  readonly latest_report?: { readonly conditions: readonly Condition[] }
}

/** What the adapter reported last, as `Available Unknown PROVISIONING: Acme: PROVISIONING`. */
const reported = async (id: string): Promise<readonly string[]> => {
  const found = await world.call<{ items: Status[] }>('GET', `/clusters/${id}/statuses`)
  const own = found?.items.find(({ adapter }) => adapter === ADAPTER)
  const conditions = own?.latest_report?.conditions ?? own?.conditions ?? []
  return conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`)
}

/** Resolves when one report has all of these. */
const untilReported = (id: string, ...conditions: readonly string[]) =>
  world.pulsedUntil(id, async () => {
    const report = await reported(id)
    for (const condition of conditions) expect(report).toContainEqual(expect.stringContaining(condition))
  })

/** The generation that the API speaks of is there. Pulsed as by a Sentinel: the cloud tells by no condition that it is at work. */
const untilReady = (id: string) =>
  world.pulsedUntil(id, async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'))

const secretPath = (name: string) => `/api/v1/namespaces/${world.namespace}/secrets/${name}-admin-kubeconfig`

const kubeconfigOf = async (name: string): Promise<string | undefined> => {
  const secret = (await world.object(secretPath(name))) as { data?: { kubeconfig?: string } } | undefined
  const data = secret?.data?.kubeconfig
  return data && Buffer.from(data, 'base64').toString()
}

/** Deletes the record, and waits until it and all of its cluster are gone. */
const remove = async (id: string) => {
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulse(id, 'Deleting')
  await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
  expect(await acme.cluster(id)).toBeUndefined()
  const inventories = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adapterinventories`
  expect(JSON.stringify(await world.plane.rest('GET', inventories))).not.toContain(id)
}

const posts = () => acme.requests.filter((request) => request.startsWith('POST')).length

test('a cluster that asks for another provider gets none, and does not wait for one', async () => {
  const id = await register('elsewhere', { provider: 'another' })
  await untilReady(id)
  expect(await acme.clusters()).toEqual([])
})

let first: string

test('CLUSTER-63: the answer to POST is lost: one cluster is made, and the adapter says in the cloud’s words how it stands', async () => {
  acme.breakNextPost('the answer is lost')
  first = await register('first')
  await untilReported(first, 'Available Unknown PROVISIONING')
  expect(posts()).toBe(2)
  expect(await acme.clusters()).toMatchObject([{ client_token: first, state: 'PROVISIONING' }])
  expect(await kubeconfigOf('first')).toBeUndefined()
})

test('CLUSTER-63: done, it has the kubeconfig that the cloud hands out, beside its ClusterDeployment', async () => {
  const { id } = (await acme.cluster(first)) ?? expect.fail('it is not there')
  await acme.restart('done at once')
  await untilReady(first)
  expect(await acme.clusters()).toMatchObject([{ id, state: 'ACTIVE' }])
  expect(await kubeconfigOf('first')).toContain(`server: "https://${id}.acme.example:6443"`)
})

test('its kubeconfig and the token of the cloud are shown nowhere else', async () => {
  const secret = (await kubeconfigOf('first'))?.match(/token: "(.*?)"/)?.[1] ?? expect.fail('it has none')
  const shown = [
    ...manager.lines,
    ...[await world.task(ADAPTER), await world.cluster(first)].map((one) => JSON.stringify(one)),
  ]
  for (const text of [secret, TOKEN]) expect(shown.join('\n')).not.toContain(text)
})

test.for<[powerState: string, before: string, state: string]>([
  ['Hibernating', 'ACTIVE', 'STOPPED'],
  ['Running', 'STOPPED', 'ACTIVE'],
])(
  'CLUSTER-63: powerState %s: not Ready while the cloud says %s, but once it says %s; the kubeconfig stays',
  async ([powerState, before, state]) => {
    const kubeconfig = await kubeconfigOf('first')
    await acme.restart('never done')
    await world.call('PATCH', `/clusters/${first}`, { spec: specOf('first', powerState) })
    await untilReported(first, `Available Unknown ${before}`)
    expect((await world.cluster(first))?.status.phase).toBe('NotReady')
    await acme.restart('done at once')
    await untilReady(first)
    expect(await acme.cluster(first)).toMatchObject({ state })
    expect(await kubeconfigOf('first')).toBe(kubeconfig)
  },
)

test.for<Fault>(['the cloud is killed before it has the request', 'the cloud is killed before its answer is there'])(
  'CLUSTER-63: %s: the next one has one cluster for the record',
  async (fault) => {
    acme.breakNextPost(fault)
    const id = await register('killed')
    await vi.waitFor(() => expect(acme.isFaulty).toBe(false), PATIENCE)
    await acme.restart('done at once')
    await untilReady(id)
    expect((await acme.clusters()).map(({ client_token }) => client_token)).toEqual([first, id])
    await remove(id)
  },
)

test('CLUSTER-63: beyond the quota the report says QuotaExceeded; when there is room, it goes on', async () => {
  const other = await register('other')
  await untilReady(other)
  expect(await acme.clusters()).toHaveLength(QUOTA)
  const id = await register('too-many')
  await untilReported(id, 'Available False QuotaExceeded')
  await remove(other)
  await untilReady(id)
  expect(await kubeconfigOf('too-many')).toContain(`https://${(await acme.cluster(id))?.id}.acme.example`)
  await remove(id)
})

test('CLUSTER-63: what the cloud says has failed is told in its words, and goes with its record', async () => {
  const id = await register('lost', { ...ACME, region: 'nowhere' })
  await untilReported(id, 'Available False AcmeError: Acme: there is no region nowhere')
  await remove(id)
})

test('CLUSTER-64: of a cluster that no pool made nothing is made, as the report says, and it can be deleted', async () => {
  const before = await acme.clusters()
  const id = await register('alone', { provider: 'acme' })
  await untilReported(id, 'Available Unknown PreconditionNotMet', 'clustersOfPoolsOnly')
  expect(await acme.clusters()).toEqual(before)
  await remove(id)
})

test('attack: a record that names a namespace which no pool made has nothing written there', async () => {
  const victim = await world.plane.namespace('victim')
  await letIn(world, EXAMPLE, victim)
  const id = await register('payroll', ACME, specOf('payroll', 'Running', victim))
  await untilReported(id, 'was made by no ClusterPool')
  expect(await world.object(`/api/v1/namespaces/${victim}/secrets/payroll-admin-kubeconfig`)).toBeUndefined()
  await remove(id)
})

test('CLUSTER-63: deleted, its kubeconfig goes first, then the cluster, which takes its time; nothing is left', async () => {
  await acme.restart('never done')
  const hold = (finalizers: readonly string[]) =>
    world.plane.rest('PATCH', secretPath('first'), { metadata: { finalizers } })
  const deletions = () => acme.requests.filter((request) => request === `DELETE /v1/clusters/by-token/${first}`).length
  await hold(['muster.dev/test'])
  await world.call('DELETE', `/clusters/${first}`)
  await untilReported(first, 'Available False Deleting', 'Applied True Applied: its kubeconfig is there')
  expect(deletions()).toBe(0)
  await hold([])
  await untilReported(first, 'Applied True Applied: Acme: DELETING')
  expect(await kubeconfigOf('first')).toBeUndefined()
  // It is looked at, and asked for, again and again by itself.
  await vi.waitFor(() => expect(deletions()).toBeGreaterThan(2), PATIENCE)
  expect(await acme.clusters()).toMatchObject([{ client_token: first, state: 'DELETING' }])
  await acme.restart('done at once')
  await remove(first)
  expect(await acme.clusters()).toEqual([])
})
