import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { configMap, type RunWorld, runWorld } from '#test/worlds/adapter/run-world.ts'
import { createMetrics } from '../metrics.ts'
import { deletionWaits } from './stuck-deletions.ts'
import { TaskStats } from './task-stats.ts'

const MINUTE = 60_000

/** A namespace and what is in it, applied once, and in deletion since. */
const deleting = async (...resources: object[]): Promise<RunWorld> => {
  const world = runWorld({ resources })
  await world.run()
  world.resource = { ...world.resource, deleted_time: '2026-01-31T12:00:00Z' }
  return world
}

const statsOf = () => new TaskStats({ processed: 0, failed: 0, skipped: 0, deadLetters: 0 })

/** Samples of the gauge as `resource cause count`. */
const scraped = async (stats: TaskStats, now: () => number): Promise<string[]> => {
  const registry = new Registry()
  createMetrics(registry).stuck.set('one', () => stats.stuck(now()))
  const metric = registry.getSingleMetric('hyperfleet_adapter_resource_deletions_stuck')
  const { values = [] } = (await metric?.get()) ?? {}
  return values.map(({ labels, value }) => `${labels.adapter_name}: ${labels.resource_type} ${labels.cause} ${value}`)
}

test('ADAPTER-47: behind a foreign finalizer a deletion is stuck after five minutes, by time alone, and says what holds it and what waits behind', async () => {
  const world = await deleting(configMap('parent'), configMap('child'))
  world.held.add('child')
  const stats = statsOf()
  stats.recordRun('c1', await world.run(), 0)
  expect(await scraped(stats, () => 5 * MINUTE - 1)).toEqual([])
  expect(await scraped(stats, () => 5 * MINUTE)).toEqual(['one: parent Order 1', 'one: child Finalizer 1'])
  expect(stats.summary(5 * MINUTE)).toMatchObject({ deleting: 1, stuck: 1 })

  world.release()
  expect(stats.recordRun('c1', await world.run(), 6 * MINUTE)).toBe(6 * MINUTE)
  expect(await scraped(stats, () => 6 * MINUTE)).toEqual([])
})

test('a refused DELETE is counted by its reason, clusters that wait for the same together', async () => {
  const stats = statsOf()
  for (const id of ['c1', 'c2']) {
    const world = await deleting(configMap('config'))
    world.refused.set('config', { operation: 'delete', reason: 'Forbidden' })
    stats.recordRun(id, await world.run(), 0)
  }
  expect(await scraped(stats, () => 5 * MINUTE)).toEqual(['one: config Forbidden 2'])
})

test('what was not looked at waits for what failed before it: a broken order holds up everything', () => {
  const failure = { phase: 'resources', step: 'a', reason: 'InvalidDeletionOrder', message: '' } as const
  expect(deletionWaits({ resources: [], failures: [failure] }, ['a', 'b'])).toEqual([
    { resource: 'a', cause: 'InvalidDeletionOrder' },
    { resource: 'b', cause: 'InvalidDeletionOrder' },
  ])
})

test('a run that fails before it observes anything neither ends a deletion nor restarts its time', async () => {
  const world = runWorld({
    params: [{ name: 'known', source: { expression: 'resource.name' }, required: true }],
    resources: [configMap('config')],
  })
  await world.run()
  const named = { ...world.resource, deleted_time: '2026-01-31T12:00:00Z' }
  world.held.add('config')
  const stats = statsOf()
  for (const [minute, resource] of [
    [0, named],
    [3, { id: 'c1' }],
    [4, named],
  ] as const) {
    world.resource = resource
    expect(stats.recordRun('c1', await world.run(), minute * MINUTE)).toBeUndefined()
    expect(stats.isDeleting('c1')).toBe(true)
  }
  expect(stats.summary(5 * MINUTE)).toMatchObject({ failed: 1, stuck: 1 })
})

test('how long a deletion took counts from the run that began it, not from the last that waited', async () => {
  const world = await deleting(configMap('parent'), configMap('child'))
  world.held.add('child')
  const stats = statsOf()
  stats.recordRun('c1', await world.run(), 2 * MINUTE)
  stats.recordRun('c1', await world.run(), 3 * MINUTE)
  world.release()
  expect(stats.recordRun('c1', await world.run(), 6 * MINUTE)).toBe(4 * MINUTE)
})

test('ADAPTER-47: a run that fails during a deletion, because something else than the resource is not found, stays in the stuck list, whether it is the first or a later one', async () => {
  const api_call = { url: '/accounts/a1' }
  const missing = { code: 'HYPERFLEET-NTF-001' }
  const account = { match: { method: 'GET', urlPattern: '/accounts/a1$' } }
  const world = runWorld(
    {
      preconditions: [
        { name: 'account', api_call, conditions: [{ field: 'account.open', operator: 'equals', value: true }] },
      ],
      resources: [configMap('config')],
    },
    { responses: [{ ...account, responses: [{ body: { open: true } }] }] },
  )
  await world.run()
  world.resource = { ...world.resource, deleted_time: '2026-01-31T12:00:00Z' }
  world.held.add('config')
  const [first, later] = [statsOf(), statsOf()]
  later.recordRun('c1', await world.run(), 0)
  expect(await scraped(later, () => 5 * MINUTE)).toEqual(['one: config Finalizer 1'])

  world.lost = { ...account, responses: [{ statusCode: 404, body: missing }] }
  const failed = await world.run()
  expect(failed.trace.status).toBe('failed')
  for (const stats of [first, later]) {
    stats.recordRun('c1', failed, MINUTE)
    expect(stats.summary(6 * MINUTE)).toMatchObject({ failing: 1, deleting: 1, stuck: 1 })
  }
  // Since its first run it waits, and what it waits for is what the last one failed with.
  const cause = failed.trace.failures[0]?.reason
  expect(await scraped(later, () => 5 * MINUTE)).toEqual([`one: config ${cause} 1`])
  expect(await scraped(first, () => 6 * MINUTE)).toEqual([`one: config ${cause} 1`])
  expect(cause).toBe('RequestFailed')

  world.lost = undefined
  world.release()
  expect(later.recordRun('c1', await world.run(), 7 * MINUTE)).toBe(7 * MINUTE)
  expect(later.summary(20 * MINUTE)).toMatchObject({ failing: 0, deleting: 0, stuck: 0 })
})
