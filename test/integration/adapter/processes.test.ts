/** Real managers as their ServiceAccount: killed in the middle of each step, and two at once. */
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { type MusterProcess, type ProxiedRequest, type RequestProxy, startMuster } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld, type Cluster, namespaceAndConfig } from './world.ts'

let world: AdapterWorld
let proxy: RequestProxy
const managers: MusterProcess[] = []

const TASK = 'killed'
/** Only for clusters that ask for it by their label. */
const RECREATING = 'recreating'
const SETTLED = { timeout: 90_000, interval: 300 }

beforeAll(async () => {
  world = await adapterWorld()
  proxy = await world.plane.proxy()
  const events = { visibility: '2s' as const }
  const selector = { matchExpressions: [{ key: 'recreate', operator: 'DoesNotExist' as const }] }
  await world.declare(TASK, { ...namespaceAndConfig(), events, selector })
  await world.declare(RECREATING, { ...recreated(), events, selector: { matchLabels: { recreate: 'yes' } } })
})

afterAll(async () => {
  await Promise.all(managers.map((one) => one.stop()))
  await world?.[Symbol.asyncDispose]()
  await proxy?.stop()
})

/** A ConfigMap that is made anew for each generation. */
const recreated = (): Pick<AdapterTaskSpec, 'params' | 'resources'> => ({
  params: [{ name: 'clusterId', source: 'event.id', required: true }],
  resources: [
    {
      name: 'config',
      recreate_on_change: true,
      manifest: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'c-{{ .clusterId }}', namespace: world.namespace },
        data: { generation: '{{ .resource.generation }}' },
      },
      discovery: { namespace: world.namespace, by_name: 'c-{{ .clusterId }}' },
    },
  ],
})

const manager = async (): Promise<MusterProcess> => {
  const kubeconfig = await world.plane.kubeconfigFor('hyperfleet-adapter', world.namespace, proxy.server)
  const addresses = ['--metrics-bind-address=0', '--health-probe-bind-address=0', `--hyperfleet-api-url=${world.url}`]
  const flags = ['--controllers=adapter', `--namespace=${world.namespace}`, `--kubeconfig=${kubeconfig}`, ...addresses]
  const started = await startMuster(['manager', ...flags])
  managers.push(started)
  return started
}

/** Pulses as a Sentinel does, until the cluster is as it should be. */
const untilPhase = (id: string, phase: 'Ready' | undefined) =>
  vi.waitFor(async () => {
    const found = await world.cluster(id)
    if (found !== undefined && found.status.phase !== phase) await world.pulse(id)
    expect(found?.status.phase).toBe(phase)
  }, SETTLED)

/** Pulses until the manager is where it is to die: its consumer group gets only what is posted once it is made. */
const pulseUntil = async (id: string, reached: Promise<void>): Promise<void> => {
  let isReached = false
  void reached.then(() => {
    isReached = true
  })
  while (!isReached) {
    await world.pulse(id)
    await delay(300)
  }
}

const kill = async (one: MusterProcess): Promise<void> => {
  one.signal('SIGKILL')
  await one.exited
  proxy.decide(() => 'pass')
  // What 15 s would do: the next one need not wait for the Lease to run out.
  const leases = [TASK, RECREATING].map((task) => `adapter-${task}`)
  await world.plane.kubectl('delete', 'lease', ...leases, '--ignore-not-found', `--namespace=${world.namespace}`)
}

/**
 * Lets the first such request of a cluster be the last that a manager gets anything from: the server does it and the answer is lost,
 * or it never comes to the server. Resolves when it has come.
 */
const lastRequest = (id: string, fits: (request: ProxiedRequest) => boolean, fate: 'lose' | 'drop'): Promise<void> =>
  new Promise((resolve) => {
    let isMet = false
    proxy.decide((request) => {
      if (!request.path.includes(`c-${id}`) || (!isMet && !fits(request))) return 'pass'
      const isFirst = !isMet
      isMet = true
      resolve()
      return isFirst && fate === 'lose' ? 'lose' : new Promise(() => {})
    })
  })

const isOf = (method: string, what: RegExp) => (request: ProxiedRequest) =>
  request.method === method && what.test(request.path)

const NAMESPACE = /\/namespaces\/[^/?]+(\?|$)/
const CONFIG = /\/configmaps\//

/** The server has done what was asked of it, although no answer came. */
const isDone = (id: string, method: 'PATCH' | 'DELETE' | 'GET', what: RegExp) =>
  vi.waitFor(async () => {
    const namespace = `/api/v1/namespaces/c-${id}`
    const found = await world.object(what === CONFIG ? `${namespace}/configmaps/config` : namespace)
    const isThere = found !== undefined && found.metadata.deletionTimestamp === undefined
    expect(isThere).toBe(method === 'PATCH')
  }, SETTLED)

const goneFrom = (id: string) =>
  vi.waitFor(async () => expect(await world.object(`/api/v1/namespaces/c-${id}`)).toBeUndefined(), SETTLED)

test.each([
  ['before the namespace is applied', 'PATCH', NAMESPACE, 'drop'],
  ['after the namespace was applied', 'PATCH', NAMESPACE, 'lose'],
  ['before what is in it is applied', 'PATCH', CONFIG, 'drop'],
  ['after all was applied, before the report', 'PATCH', CONFIG, 'lose'],
] as const)(
  'SIGKILL while applying, %s: the next manager finishes it',
  async (when, method, what, fate) => {
    const { id } = await world.create(when.replaceAll(/[ ,]+/g, '-').slice(0, 50))
    const first = await manager()
    const reached = lastRequest(id, isOf(method, what), fate)
    await pulseUntil(id, reached)
    if (fate === 'lose') await isDone(id, method, what)
    await kill(first)
    const second = await manager()
    await untilPhase(id, 'Ready')
    expect(await world.object(`/api/v1/namespaces/c-${id}/configmaps/config`)).toMatchObject({
      data: { generation: '1' },
    })
    await second.stop()
  },
  180_000,
)

test.each([
  ['before it looks', 'GET', CONFIG, 'drop'],
  ['before what is in the namespace is deleted', 'DELETE', CONFIG, 'drop'],
  ['after what is in the namespace was deleted', 'DELETE', CONFIG, 'lose'],
  ['before the namespace is deleted', 'DELETE', NAMESPACE, 'drop'],
  ['after all was deleted, before the report', 'DELETE', NAMESPACE, 'lose'],
] as const)(
  '(18) SIGKILL while deleting, %s: the next manager finishes it and nothing is left',
  async (when, method, what, fate) => {
    const { id } = await world.create(when.replaceAll(/[ ,]+/g, '-').slice(0, 50))
    const first = await manager()
    await untilPhase(id, 'Ready')
    const reached = lastRequest(id, isOf(method, what), fate)
    await world.call('DELETE', `/clusters/${id}`)
    await pulseUntil(id, reached)
    if (fate === 'lose') await isDone(id, method, what)
    await kill(first)
    const second = await manager()
    await untilPhase(id, undefined)
    await goneFrom(id)
    await second.stop()
  },
  180_000,
)

/** The record goes without the adapter, or the task selects the cluster no longer: nothing tells the adapter but its inventory. */
const abandon = {
  'of a record that was removed by force': async (id: string) => {
    await world.call('DELETE', `/clusters/${id}`)
    await world.call('POST', `/clusters/${id}/force-delete`, { reason: 'the account is closed' })
  },
  'of a cluster that was relabelled': async (id: string) => {
    await world.call('PATCH', `/clusters/${id}`, { labels: { recreate: 'elsewhere' } })
  },
} as const

test.each([
  ['of a record that was removed by force', 'before the first object is deleted', CONFIG, 'drop'],
  ['of a record that was removed by force', 'after the first object was deleted', CONFIG, 'lose'],
  ['of a record that was removed by force', 'after the last object was deleted', NAMESPACE, 'lose'],
  ['of a cluster that was relabelled', 'after the first object was deleted', CONFIG, 'lose'],
] as const)(
  'ADAPTER-50, ADAPTER-66: SIGKILL in the middle of a sweep %s, %s: the next manager finishes it and the inventory goes',
  async (how, when, what, fate) => {
    const { id } = await world.create(
      `swept-${how === 'of a cluster that was relabelled' ? 'relabelled' : 'forced'}-${when.split(' ')[0]}-${what === CONFIG ? 'config' : 'namespace'}`,
    )
    const first = await manager()
    await untilPhase(id, 'Ready')
    const reached = lastRequest(id, isOf('DELETE', what), fate)
    await abandon[how](id)
    await reached
    if (fate === 'lose') await isDone(id, 'DELETE', what)
    await kill(first)
    expect(await inventoriesOf(id)).toBe(1)
    const second = await manager()
    await goneFrom(id)
    await vi.waitFor(async () => expect(await inventoriesOf(id)).toBe(0), SETTLED)
    await second.stop()
  },
  180_000,
)

const inventoriesOf = async (id: string): Promise<number> => {
  const all = await Array.fromAsync(world.kube.list(AdapterInventory, { namespace: world.namespace }))
  return all.filter(({ spec }) => spec.resourceId === id).length
}

// API-50
test('DELETE and SIGKILL in the first run, which has reported nothing: the record waits for the next manager, and nothing is left', async () => {
  const { id } = await world.create('first-run')
  const first = await manager()
  const reached = lastRequest(id, isOf('PATCH', CONFIG), 'drop')
  await pulseUntil(id, reached)
  expect(await world.object(`/api/v1/namespaces/c-${id}`)).toBeDefined()
  await world.call('DELETE', `/clusters/${id}`)
  await kill(first)
  expect((await world.cluster(id))?.status).toMatchObject({ awaited: [], awaited_groups: [expect.any(String)] })
  const second = await manager()
  await untilPhase(id, undefined)
  await goneFrom(id)
  await second.stop()
}, 180_000)

test('ADAPTER-50: SIGKILL while recreating, between the old object and the new one: the next manager makes the new one', async () => {
  const { id } =
    (await world.call<Cluster>('POST', '/clusters', { name: 'recreated', labels: { recreate: 'yes' }, spec: {} })) ?? {}
  if (id === undefined) throw new Error('the cluster was not made')
  const config = `/api/v1/namespaces/${world.namespace}/configmaps/c-${id}`
  const first = await manager()
  await untilPhase(id, 'Ready')
  const reached = lastRequest(id, isOf('DELETE', CONFIG), 'lose')
  await world.call('PATCH', `/clusters/${id}`, { spec: { region: 'eu' } })
  await pulseUntil(id, reached)
  await vi.waitFor(async () => expect(await world.object(config)).toBeUndefined(), SETTLED)
  await kill(first)
  const second = await manager()
  await vi.waitFor(async () => {
    await world.pulse(id)
    expect(await world.object(config)).toMatchObject({ data: { generation: '2' } })
  }, SETTLED)
  await untilPhase(id, 'Ready')
  await second.stop()
}, 180_000)

test('ADAPTER-50: two managers: one works and the other stands by; when the first is killed, nothing is lost', async () => {
  const first = await manager()
  await first.line('lease acquired')
  const second = await manager()
  await second.line('caches are filled')
  const ids = await Promise.all([1, 2, 3, 4].map(async (n) => (await world.create(`replica-${n}`)).id))
  for (const id of ids.slice(0, 2)) await untilPhase(id, 'Ready')
  expect(second.log().map(({ msg }) => msg)).not.toContain('lease acquired')
  await kill(first)
  await second.line('lease acquired')
  for (const id of ids) await untilPhase(id, 'Ready')
  for (const id of ids) await world.call('DELETE', `/clusters/${id}`)
  await Promise.all(ids.map((id) => untilPhase(id, undefined)))
}, 180_000)
