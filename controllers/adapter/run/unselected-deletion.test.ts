/** A deletion never waits for an adapter whose task does not select the resource, whatever the adapter remembers of it. */
import { expect, test } from 'vitest'
import { conditionsOf, configMap, DELETED, runWorld } from '#test/worlds/adapter/run-world.ts'

const SELECTION = { selection: 'pace=slow' }

test('ADAPTER-79: a resource that is being deleted and not selected is let go, also by an adapter that has no inventory', async () => {
  const world = runWorld({ resources: [configMap('a')] }, SELECTION)
  world.selected = false
  await world.run()
  expect(world.reports()).toEqual([])
  world.resource = DELETED
  expect((await world.run()).isReported).toBe(true)
  expect(conditionsOf(world.reports()[0])).toContain('Applied False NotSelected')
})

test('ADAPTER-79: a task that deletes everything while the resource lives stays known to have reported', async () => {
  const world = runWorld({ resources: [configMap('a')], when_deleting: "resource.name == 'off'" }, SELECTION)
  await world.run()
  world.resource = { id: 'c1', name: 'off', generation: 3 }
  await world.run()
  expect(world.done()).toEqual(['apply a', 'delete a Background'])
  expect(world.isRecorded()).toBe(true)
  world.reports()
  world.selected = false
  await world.run()
  expect(conditionsOf(world.reports()[0])).toContain('Applied False NotSelected')
  expect(world.isRecorded()).toBe(false)
})

test('ADAPTER-82: what is kept is let go once for each state of the resource, and again after the task has reported', async () => {
  const world = runWorld({ resources: [configMap('a')] }, { ...SELECTION, retention: { whenUnselected: 'Keep' } })
  const reportsOfRun = async () => {
    world.reports()
    await world.run()
    return world.reports().length
  }
  await world.run()
  world.selected = false
  expect([await reportsOfRun(), await reportsOfRun()]).toEqual([1, 0])
  world.resource = { id: 'c1', name: 'east', generation: 3 }
  expect([await reportsOfRun(), await reportsOfRun()]).toEqual([1, 0])
  world.selected = true
  await world.run()
  world.selected = false
  expect(await reportsOfRun()).toBe(1)
})

test('ADAPTER-87: what is held is neither deleted nor let go; a deletion that the API orders is not held', async () => {
  const world = runWorld({ resources: [configMap('a')] }, SELECTION)
  await world.run()
  world.selected = false
  world.isHeld = true
  world.reports()
  expect((await world.run()).trace).toMatchObject({
    status: 'skipped',
    skipReason: expect.stringContaining('stays until two looks'),
  })
  expect([world.reports(), world.recorded()]).toEqual([[], ['a a-c1']])
  world.resource = DELETED
  await world.run()
  expect(conditionsOf(world.reports()[0])).toContain('Applied False NotSelected')
  expect(world.recorded()).toEqual([])
})

test('ADAPTER-87: where nothing was applied, or all is kept, nothing is held', async () => {
  const kept = runWorld({ resources: [configMap('a')] }, { ...SELECTION, retention: { whenUnselected: 'Keep' } })
  const empty = runWorld({}, SELECTION)
  for (const world of [kept, empty]) {
    await world.run()
    world.reports()
    world.selected = false
    world.isHeld = true
    await world.run()
    expect(conditionsOf(world.reports()[0])).toContain('Applied False NotSelected')
  }
})
