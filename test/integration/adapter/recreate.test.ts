/** `recreate_on_change`: the old object goes and a new one comes, whatever fails on the way, and nothing polls meanwhile. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { KubeObject } from '#operator/model/resource.ts'
import type { Fate, ProxiedRequest, RequestProxy } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld } from './world.ts'

let world: AdapterWorld
let proxy: RequestProxy
const rules = new Map<string, (request: ProxiedRequest) => Fate>()

const SETTLED = { timeout: 60_000, interval: 300 }

beforeAll(async () => {
  world = await adapterWorld()
  proxy = await world.plane.proxy()
  proxy.decide((request) => {
    for (const [id, rule] of rules) if (request.path.includes(id)) return rule(request)
    return 'pass'
  })
  const labels = { recreated: '{{ .clusterId }}' }
  await world.declare('recreate', {
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    resources: [
      {
        name: 'config',
        recreate_on_change: true,
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'recreate-{{ .clusterId }}', namespace: world.namespace, labels },
          data: { generation: '{{ .resource.generation }}' },
        },
        discovery: { namespace: world.namespace, by_selectors: { label_selector: labels } },
      },
    ],
  })
  await world.manager(await world.plane.kubeconfigFor('hyperfleet-adapter', world.namespace, proxy.server))
  await world.until('recreate', 'Working')
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await proxy?.stop()
})

const pathOf = (id: string) => `/api/v1/namespaces/${world.namespace}/configmaps/recreate-${id}`
const configOf = (id: string) => world.object(pathOf(id)) as Promise<(KubeObject & { data?: object }) | undefined>

/** Pulses as a Sentinel does, until the cluster is Ready at a generation. */
const untilReady = (id: string, generation: number) =>
  vi.waitFor(async () => {
    const ready = (await world.cluster(id))?.status.conditions.find(({ type }) => type === 'Ready')
    const isReady = ready?.status === 'True' && ready.observed_generation === generation
    if (!isReady) await world.pulse(id)
    expect(isReady).toBe(true)
  }, SETTLED)

/** A cluster whose object is there for its first generation, and no run of which is under way: one pulse, one run. */
const made = async (name: string): Promise<{ readonly id: string; readonly uid: string | undefined }> => {
  const { id } = await world.create(name)
  await world.pulse(id)
  await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), SETTLED)
  return { id, uid: (await configOf(id))?.metadata.uid }
}

/** What is asked of the object, in the order in which a run asks it. */
const STEPS = ['looking for it', 'deleting it', 'seeing that it is gone', 'creating it', 'finding it again'] as const

/** Meets the request of one step with a fate, once. */
const meet = (id: string, step: (typeof STEPS)[number], fate: Fate): (() => number) => {
  let [met, isDeleted, isCreated] = [0, false, false]
  rules.set(id, ({ method }) => {
    const now =
      method === 'DELETE'
        ? 'deleting it'
        : method === 'PATCH'
          ? 'creating it'
          : isCreated
            ? 'finding it again'
            : isDeleted
              ? 'seeing that it is gone'
              : 'looking for it'
    if (now === step && met === 0) {
      met++
      return fate
    }
    isDeleted ||= method === 'DELETE'
    isCreated ||= method === 'PATCH'
    return 'pass'
  })
  return () => met
}

const FATES: readonly (readonly [string, Fate])[] = [
  ['403', { status: 403 }],
  ['404', { status: 404 }],
  ['409', { status: 409 }],
  ['500', { status: 500 }],
  ['a connection that breaks before', 'drop'],
  ['an answer that is lost', 'lose'],
]

let count = 0

describe.concurrent.each(FATES)('%s from the API server', (_, fate) => {
  test.each(STEPS)('when %s: there is one object in the end, a new one of the new generation', async (step) => {
    const { id, uid } = await made(`faulty-${count++}`)
    const met = meet(id, step, fate)
    await world.call('PATCH', `/clusters/${id}`, { spec: { region: 'eu' } })
    await untilReady(id, 2)
    expect(met()).toBe(1)
    const config = await configOf(id)
    expect(config).toMatchObject({ data: { generation: '2' } })
    expect(config?.metadata.uid).not.toBe(uid)
  })
})

test('ADAPTER-28: the old one is held by a foreign finalizer: deleted once, nothing polls, and its end alone brings the new one', async () => {
  const { id, uid } = await made('held')
  await world.plane.rest('PATCH', pathOf(id), { metadata: { finalizers: ['example.com/hold'] } })
  await vi.waitFor(async () => expect((await configOf(id))?.metadata.finalizers).toEqual(['example.com/hold']), SETTLED)
  const requests: string[] = []
  rules.set(id, ({ method }) => {
    requests.push(method)
    return 'pass'
  })
  await world.call('PATCH', `/clusters/${id}`, { spec: { region: 'eu' } })
  const runs = async () => (await world.task('recreate')).status?.processed ?? 0
  await world.pulse(id)
  const deletions = () => requests.filter((method) => method === 'DELETE')
  await vi.waitFor(() => expect(deletions()).toHaveLength(1), SETTLED)
  const before = await runs()
  for (let round = 1; round <= 3; round++) {
    await world.pulse(id)
    await vi.waitFor(async () => expect(await runs()).toBeGreaterThanOrEqual(before + round), SETTLED)
  }
  expect((await configOf(id))?.metadata.uid).toBe(uid)
  expect(deletions()).toHaveLength(1)
  expect(requests.filter((method) => method === 'PATCH')).toEqual([])
  // Each run looks once, and the one that deletes looks again; of the first, `before` may not know yet.
  expect(requests.length).toBeLessThanOrEqual(2 * ((await runs()) - before) + 4)

  await world.plane.rest('PATCH', pathOf(id), { metadata: { finalizers: null } })
  await vi.waitFor(async () => expect(await configOf(id)).toMatchObject({ data: { generation: '2' } }), SETTLED)
  await untilReady(id, 2)
})

test('a new one that is refused for longer: the report says so, and it is there as soon as it may be', async () => {
  const { id } = await made('refused')
  rules.set(id, ({ method }) => (method === 'PATCH' ? { status: 403 } : 'pass'))
  await world.call('PATCH', `/clusters/${id}`, { spec: { region: 'eu' } })
  await world.pulse(id)
  await vi.waitFor(
    async () =>
      expect(await world.reported(id, 'recreate')).toEqual([
        'Applied False Forbidden',
        'Available False Forbidden',
        'Health False Forbidden',
        'Finalized False NotDeleting',
      ]),
    SETTLED,
  )
  expect(await configOf(id)).toBeUndefined()
  rules.delete(id)
  await untilReady(id, 2)
  expect(await configOf(id)).toMatchObject({ data: { generation: '2' } })
})

test('deleted while it is between the old one and the new one: nothing comes any more', async () => {
  const { id } = await made('leaving')
  await world.plane.rest('PATCH', pathOf(id), { metadata: { finalizers: ['example.com/hold'] } })
  await world.call('PATCH', `/clusters/${id}`, { spec: { region: 'eu' } })
  await vi.waitFor(async () => {
    await world.pulse(id)
    expect((await configOf(id))?.metadata.deletionTimestamp).toBeDefined()
  }, SETTLED)
  await world.call('DELETE', `/clusters/${id}`)
  await world.pulse(id, 'Deleting')
  await vi.waitFor(async () => expect(await world.reported(id, 'recreate')).toContain('Applied True Deleting'), SETTLED)
  await world.plane.rest('PATCH', pathOf(id), { metadata: { finalizers: null } })
  await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), SETTLED)
  expect(await configOf(id)).toBeUndefined()
})
