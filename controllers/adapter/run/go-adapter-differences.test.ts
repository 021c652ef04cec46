/**
 * Where this adapter differs from the Go adapter (openshift-hyperfleet/hyperfleet-adapter) on purpose, each by its rule. Drift and
 * messages that are not events take real servers: test/integration/adapter/life.test.ts and nats.test.ts.
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

describe('ADAPTER-3: an expression that fails at run time', () => {
  test.each([
    ['delete.when', { resources: [configMap('a', lifecycle({ delete: 'resource.nope' }))] }],
    ['create.when', { resources: [configMap('a', lifecycle({ create: 'resource.nope' }))] }],
    ['a precondition', { preconditions: [{ name: 'p', expression: 'resource.nope' }], resources: [configMap('a')] }],
    ['when_deleting', { when_deleting: 'resource.nope', resources: [configMap('a')] }],
  ])('fails the run, in %s: nothing is applied, nothing is deleted, Health=False', async (_, task) => {
    const world = runWorld(task)
    const { trace } = await world.run()
    expect([trace.status, world.done()]).toEqual(['failed', []])
    expect(conditionsOf(world.reports()[0])).toContain('Health False ExpressionFailed')
  })

  test('in delete.when during a deletion neither deletes nor finalizes', async () => {
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

test('ADAPTER-34: a resource that waits for others during a deletion is not applied, and nothing is created', async () => {
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

test('ADAPTER-46: create.when "not deleting" with a Finalized that reads resourcesSkipped is finalized', async () => {
  const world = await deleting({
    resources: [configMap('a', lifecycle({ create: `!${isDeleting}`, delete: isDeleting }))],
    post: reporting({ finalized: `${isDeleting} && !resources.?a.hasValue() && !adapter.resourcesSkipped` }),
  })
  await world.run()
  await world.run()
  expect(world.reports()).toEqual([{ finalized: true }, { finalized: true }])
})

test('ADAPTER-37: one list for both directions is deleted in one run', async () => {
  const world = runWorld({ resources: [configMap('parent'), configMap('child'), configMap('grandchild')] })
  await world.run()
  expect(world.done()).toEqual(['apply parent', 'apply child', 'apply grandchild'])
  world.resource = DELETED
  expect((await world.run()).remaining).toEqual([])
  expect(world.done()).toEqual(['delete grandchild Background', 'delete child Background', 'delete parent Background'])
})

describe('ADAPTER-36: resources that wait for each other', () => {
  test('by after are refused when the task is loaded', () => {
    const following = (name: string) => ({ delete_options: { after: [name] } })
    expect(() => runWorld({ resources: [configMap('a', following('b')), configMap('b', following('a'))] })).toThrow(
      'a waits for b waits for a',
    )
  })

  test('by their conditions report what they wait for, and nothing is applied meanwhile', async () => {
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
  'ADAPTER-4: a deleted_time of null is no deletion (when_deleting: %s)',
  async (when) => {
    const task = { resources: [configMap('a')], ...(when !== undefined && { when_deleting: when }) }
    const world = runWorld(task)
    world.resource = { id: 'c1', generation: 2, deleted_time: null }
    expect((await world.run()).trace.mode).toBe('apply')
  },
)

test('ADAPTER-48: a deletion is counted once, however many runs find the object gone', async () => {
  const metrics = createMetrics(new Registry())
  const world = await deleting({ resources: [configMap('a')] })
  for (let run = 0; run < 3; run++) countRun(metrics, 'adapter', (await world.run()).trace)
  expect((await metrics.resourcesDeleted.get()).values).toMatchObject([{ labels: { resource_type: 'a' }, value: 1 }])
})

test('ADAPTER-5: a required param without a value is reported, also during a deletion', async () => {
  const task = { params: [{ name: 'zone', source: 'resource.zone', required: true }], resources: [configMap('a')] }
  for (const resource of [{ id: 'c1', generation: 2 }, DELETED]) {
    const world = runWorld(task)
    world.resource = resource
    await world.run()
    expect(world.done()).toEqual([])
    expect(conditionsOf(world.reports()[0])).toContain('Health False ParamMissing')
  }
})
