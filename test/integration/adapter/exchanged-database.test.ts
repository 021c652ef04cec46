/**
 * The database of the HyperFleet API is exchanged for an empty one, or the selector of a task for another: what was applied for many
 * resources stays until a person says so.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { systemClock } from '#operator/index.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { silent } from '#operator/model/log.ts'
import { start } from '#services/hyperfleet-api/start.ts'
import { muster } from '../cmd/run.ts'
import { type ApiFront, apiFront } from './api-front.ts'
import { type AdapterWorld, adapterWorld, type Manager } from './world.ts'

/** More than are few. */
const COUNT = 24
/** The API is asked twice a minute. */
const SETTLED = { timeout: 100_000, interval: 200 }

let world: AdapterWorld
let front: ApiFront
let manager: Manager
let empty: Awaited<ReturnType<typeof start>>

beforeAll(async () => {
  world = await adapterWorld()
  front = await apiFront(world.url)
  empty = await start({ listen: { host: '127.0.0.1', port: 0 }, clock: systemClock, log: silent })
  manager = await world.manager(undefined, { httpTargets: [front.url] })
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await front?.stop()
  await empty?.stop()
})

/** A task with one object for each of its clusters. */
const declare = async (task: string, rest: object = {}): Promise<void> => {
  const name = `${task}-{{ .clusterId }}`
  const metadata = { name, namespace: world.namespace }
  const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
  await world.declare(task, {
    hyperfleetAPI: { url: front.url },
    selector: { matchLabels: { task } },
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    resources: [{ name: 'one', manifest, discovery: { namespace: world.namespace, by_name: name } }],
    ...rest,
  })
  await world.until(task, 'Working')
}

const there = async (task: string, ids: readonly string[]) => {
  const path = `/api/v1/namespaces/${world.namespace}/configmaps/${task}-`
  const found = await Promise.all(ids.map((id) => world.object(path + id)))
  return found.filter((object) => object !== undefined).length
}

/** So many clusters of a task, each with its object. */
const applied = async (task: string, count = COUNT): Promise<readonly string[]> => {
  const ids: string[] = []
  for (let at = 0; at < count; at++) {
    const body = { kind: 'Cluster', name: `${task}-${at}`, labels: { task }, spec: {} }
    ids.push((await world.call('POST', '/clusters', body))?.id ?? '')
  }
  for (const id of ids) await world.pulse(id)
  await vi.waitFor(async () => expect(await there(task, ids)).toBe(count), SETTLED)
  return ids
}

const held = async (task = 'kept') => findCondition((await world.task(task)).status?.conditions, 'DeletionsHeld')
const metric = async () => await manager.registry.getSingleMetricAsString('hyperfleet_adapter_deletions_held')
const orphans = async (...more: string[]) => {
  const flags = [`--namespace=${world.namespace}`, `--hyperfleet-api-url=${front.url}`]
  const { output } = await muster(['adapter', 'orphans', ...flags, `--kubeconfig=${world.plane.kubeconfig}`, ...more])
  return output
}

test('ADAPTER-75, ADAPTER-76, ADAPTER-77: nothing is deleted, all is listed; it comes back, or a person releases the list', async () => {
  await declare('kept')
  const ids = await applied('kept')

  front.lead(empty.url)
  await vi.waitFor(async () => expect((await held())?.status).toBe('True'), SETTLED)
  expect(await there('kept', ids)).toBe(COUNT)
  expect((await held())?.message).toMatch(`does not have ${COUNT} resources any more`)
  expect(await metric()).toMatch(new RegExp(`} ${COUNT}$`, 'm'))
  const listed = await orphans('--prune')
  expect(listed.match(/ResourceGone {2}held$/gm)).toHaveLength(COUNT)
  expect(listed).toContain('muster.dev/release-deletions=')
  expect(await there('kept', ids)).toBe(COUNT)

  // A manager that takes over has deleted nothing yet, and frees nothing either.
  await manager.stop()
  manager = await world.manager(undefined, { httpTargets: [front.url] })
  await vi.waitFor(async () => expect(await metric()).toMatch(new RegExp(`} ${COUNT}$`, 'm')), SETTLED)
  expect(await there('kept', ids)).toBe(COUNT)

  front.lead(world.url)
  await vi.waitFor(async () => expect((await held())?.status).toBe('False'), SETTLED)
  expect(await there('kept', ids)).toBe(COUNT)

  front.lead(empty.url)
  await vi.waitFor(async () => expect((await held())?.status).toBe('True'), SETTLED)
  const release = /release-deletions=(\S+)$/.exec((await held())?.message ?? '')?.[1]
  const annotations = { 'muster.dev/release-deletions': release ?? '' }
  const path = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks/kept`
  await world.plane.rest('PATCH', path, { metadata: { annotations } })
  await vi.waitFor(async () => expect(await there('kept', ids)).toBe(0), SETTLED)
  await vi.waitFor(async () => expect((await held())?.status).toBe('False'), SETTLED)
}, 400_000)

test('ADAPTER-76: as many that the API said are to be deleted, and that are removed by force, go', async () => {
  front.lead(world.url)
  // While its clusters are being deleted the task only looks.
  await declare('ordered', { preconditions: [{ name: 'alive', expression: '!has(resource.deleted_time)' }] })
  const ids = await applied('ordered')
  for (const id of ids) await world.call('DELETE', `/clusters/${id}`)
  for (const id of ids) await world.pulse(id)
  await vi.waitFor(async () => expect((await world.task('ordered')).status?.deleting).toBe(COUNT), SETTLED)
  expect(await there('ordered', ids)).toBe(COUNT)
  for (const id of ids) await world.call('POST', `/clusters/${id}/force-delete`, { reason: 'the account is closed' })
  await vi.waitFor(async () => expect(await there('ordered', ids)).toBe(0), SETTLED)
  expect((await held('ordered'))?.status).toBe('False')
}, 400_000)

test('ADAPTER-87: a selector that selects none of them any more deletes nothing; changed back, nothing has happened; released, all goes', async () => {
  front.lead(world.url)
  await declare('selected')
  const ids = await applied('selected')
  const path = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks/selected`
  const select = (labels: object) => world.plane.rest('PATCH', path, { spec: { selector: { matchLabels: labels } } })
  const untilHeld = (status: 'True' | 'False') =>
    vi.waitFor(async () => expect((await held('selected'))?.status).toBe(status), SETTLED)

  await select({ stage: 'none' })
  await untilHeld('True')
  expect((await held('selected'))?.message).toMatch(`the task does not select ${COUNT} resources any more`)
  // An event of one of them, and a manager that takes over, free nothing either.
  await world.pulse(ids[0] ?? '')
  await manager.stop()
  manager = await world.manager(undefined, { httpTargets: [front.url] })
  await vi.waitFor(async () => expect(await metric()).toMatch(new RegExp(`} ${COUNT}$`, 'm')), SETTLED)
  expect(await there('selected', ids)).toBe(COUNT)

  await select({ stage: null })
  await untilHeld('False')
  expect(await there('selected', ids)).toBe(COUNT)

  await select({ stage: 'none' })
  await untilHeld('True')
  // What the API says is to be deleted is not held.
  const [first = '', ...rest] = ids
  await world.call('DELETE', `/clusters/${first}`)
  await vi.waitFor(async () => expect(await world.cluster(first)).toBeUndefined(), SETTLED)
  expect(await there('selected', ids)).toBe(COUNT - 1)
  await vi.waitFor(async () => expect((await held('selected'))?.message).toMatch(`select ${COUNT - 1} res`), SETTLED)
  const release = /release-deletions=(\S+)$/.exec((await held('selected'))?.message ?? '')?.[1]
  await world.plane.rest('PATCH', path, {
    metadata: { annotations: { 'muster.dev/release-deletions': release ?? '' } },
  })
  await vi.waitFor(async () => expect(await there('selected', rest)).toBe(0), SETTLED)
  await untilHeld('False')
}, 400_000)

test('ADAPTER-109: a manager that takes over goes on with what the one before began, and counts it once', async () => {
  front.lead(world.url)
  await declare('begun')
  // So few go; counted twice they would be held.
  const ids = await applied('begun', 12)
  const path = (id: string) => `/api/v1/namespaces/${world.namespace}/configmaps/begun-${id}`
  const setFinalizers = (finalizers: readonly string[]) =>
    Promise.all(ids.map((id) => world.plane.rest('PATCH', path(id), { metadata: { finalizers } })))
  await setFinalizers(['example.com/slow'])
  front.lead(empty.url)
  await vi.waitFor(async () => {
    const objects = await Promise.all(ids.map((id) => world.object(path(id))))
    expect(objects.every((one) => one?.metadata.deletionTimestamp !== undefined)).toBe(true)
  }, SETTLED)
  await manager.stop()
  manager = await world.manager(undefined, { httpTargets: [front.url] })
  await setFinalizers([])
  await vi.waitFor(async () => {
    const inventories = await Array.fromAsync(world.kube.list(AdapterInventory, { namespace: world.namespace }))
    expect(inventories.filter(({ spec }) => spec.task === 'begun')).toEqual([])
  }, SETTLED)
  expect((await held('begun'))?.status).toBe('False')
}, 400_000)
