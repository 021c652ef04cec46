/**
 * Ten faults that were measured in the Go adapter, each shown as right in ours by its number. (1) a poison message and (8) drift take
 * real servers: test/integration/adapter/nats.test.ts and life.test.ts.
 */
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { conditionsOf, configMap, DELETED, deleting, reporting, runWorld } from '#test/worlds/adapter/run-world.ts'
import { countRun, createMetrics } from '../metrics.ts'

const isDeleting = 'resource.?deleted_time.hasValue()'
const lifecycle = (given: { readonly create?: string; readonly delete?: string }) => ({
  lifecycle: {
    ...(given.create !== undefined && { create: { when: { expression: given.create } } }),
    ...(given.delete !== undefined && { delete: { when: { expression: given.delete } } }),
  },
})

describe('peer fault 2: an expression that fails at run time is taken for false', () => {
  test.each([
    ['delete.when', { resources: [configMap('a', lifecycle({ delete: 'resource.nope' }))] }],
    ['create.when', { resources: [configMap('a', lifecycle({ create: 'resource.nope' }))] }],
    ['a precondition', { preconditions: [{ name: 'p', expression: 'resource.nope' }], resources: [configMap('a')] }],
    ['when_deleting', { when_deleting: 'resource.nope', resources: [configMap('a')] }],
  ])('ours fails the run, in %s: nothing is applied, nothing is deleted, Health=False', async (_, task) => {
    const world = runWorld(task)
    const { trace } = await world.run()
    expect([trace.status, world.done()]).toEqual(['failed', []])
    expect(conditionsOf(world.reports()[0])).toContain('Health False ExpressionFailed')
  })

  test('ours neither deletes nor finalizes by a delete.when that fails while deleting', async () => {
    const world = await deleting({
      resources: [configMap('a', lifecycle({ delete: `${isDeleting} && resource.nope` }))],
    })
    await world.run()
    expect(world.done()).toEqual([])
    expect(conditionsOf(world.reports()[0])).toEqual([
      'Applied True Deleting',
      'Available False Deleting',
      'Health False ExpressionFailed',
      'Finalized False AdapterUnhealthy',
    ])
  })
})

test('peer fault 3: what waits for others while deleting is applied again; ours applies nothing, and makes nothing anew', async () => {
  const world = await deleting({
    resources: [
      configMap('parent', lifecycle({ delete: `${isDeleting} && !resources.?child.hasValue()` })),
      configMap('child', lifecycle({ delete: isDeleting })),
      configMap('absent', lifecycle({ create: 'false', delete: `${isDeleting} && !resources.?child.hasValue()` })),
    ],
  })
  world.held.add('child')
  await world.run()
  await world.run()
  expect(world.done()).toEqual(['delete child Background'])
})

test('peer fault 4: create.when "not deleting" with a Finalized that asks for resourcesSkipped deadlocks; ours finalizes', async () => {
  const world = await deleting({
    resources: [configMap('a', lifecycle({ create: `!${isDeleting}`, delete: isDeleting }))],
    post: reporting({ finalized: `${isDeleting} && !resources.?a.hasValue() && !adapter.resourcesSkipped` }),
  })
  await world.run()
  await world.run()
  expect(world.reports()).toEqual([{ finalized: true }, { finalized: true }])
})

test('peer fault 5: one list for both directions takes a run for each step; ours deletes all of it in one', async () => {
  const world = runWorld({ resources: [configMap('parent'), configMap('child'), configMap('grandchild')] })
  await world.run()
  expect(world.done()).toEqual(['apply parent', 'apply child', 'apply grandchild'])
  world.resource = DELETED
  expect((await world.run()).remaining).toEqual([])
  expect(world.done()).toEqual(['delete grandchild Background', 'delete child Background', 'delete parent Background'])
})

describe('peer fault 6: two that wait for each other are never reported', () => {
  test('ours refuses such an after when the task is loaded', () => {
    const following = (name: string) => ({ delete_options: { after: [name] } })
    expect(() => runWorld({ resources: [configMap('a', following('b')), configMap('b', following('a'))] })).toThrow(
      'a waits for b waits for a',
    )
  })

  test('ours says of conditions that wait for each other what they wait for, and applies nothing meanwhile', async () => {
    const waiting = (other: string) => lifecycle({ delete: `${isDeleting} && !resources.?${other}.hasValue()` })
    const world = await deleting({ resources: [configMap('a', waiting('b')), configMap('b', waiting('a'))] })
    await world.run()
    expect(world.done()).toEqual([])
    const [report] = world.reports()
    expect(conditionsOf(report)).toContain('Finalized False CleanupInProgress')
    expect(JSON.stringify(report)).toContain('resources.?b.hasValue() is false')
  })
})

test.each([undefined, 'has(resource.deleted_time)', isDeleting])(
  'peer fault 7: a deleted_time of null deletes a live cluster; ours takes it for absent (when_deleting: %s)',
  async (when) => {
    const task = { resources: [configMap('a')], ...(when !== undefined && { when_deleting: when }) }
    const world = runWorld(task)
    world.resource = { id: 'c1', generation: 2, deleted_time: null }
    expect((await world.run()).trace.mode).toBe('apply')
  },
)

test('peer fault 9: every look at what is gone counts as a deletion; ours counts what it deleted, once', async () => {
  const metrics = createMetrics(new Registry())
  const world = await deleting({ resources: [configMap('a')] })
  for (let run = 0; run < 3; run++) countRun(metrics, 'adapter', (await world.run()).trace)
  expect((await metrics.resourcesDeleted.get()).values).toMatchObject([{ labels: { resource_type: 'a' }, value: 1 }])
})

test('peer fault 10: a required param without a value tells the API nothing; ours reports it, while deleting too', async () => {
  const task = { params: [{ name: 'zone', source: 'resource.zone', required: true }], resources: [configMap('a')] }
  for (const resource of [{ id: 'c1', generation: 2 }, DELETED]) {
    const world = runWorld(task)
    world.resource = resource
    await world.run()
    expect(world.done()).toEqual([])
    expect(conditionsOf(world.reports()[0])).toContain('Health False ParamMissing')
  }
})
