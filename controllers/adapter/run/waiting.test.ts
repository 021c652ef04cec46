/** Tasks that have the same objects, and change them at the same time: each follows the first of them, and none waits for ever. In memory. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CLUSTERS, type SharedWorldOptions, type TaskName, wantedBy } from '#test/worlds/adapter/shared-tasks.ts'
import { SharedWorld } from '#test/worlds/adapter/shared-world.ts'

const THREE = { left: 'n', right: 'n', far: 'n' } as const
const ALL = Object.keys(THREE) as TaskName[]

const runs = (...tasks: readonly TaskName[]) => tasks.map((task) => ({ task, cluster: 'c1' as const }))
const settle = async (it: SharedWorld, ...tasks: readonly TaskName[]) => {
  for (let round = 0; round < 6; round++) {
    await it.rest()
    await it.run(runs(...tasks))
  }
}
const health = (it: SharedWorld, ...tasks: readonly TaskName[]) =>
  tasks.map((task) => it.conditionOf({ task, cluster: 'c1' }, 'Health'))

const leave = (it: SharedWorld) => {
  it.select('left', 'c1', false)
  return it.run(runs('left'))
}

const applied = async (options: Partial<SharedWorldOptions>, ...tasks: readonly TaskName[]) => {
  const it = new SharedWorld({ isBare: false, delays: [0], readsAll: true, ...options })
  for (const one of runs(...tasks)) {
    await it.run([one])
    await it.rest()
  }
  await settle(it, ...tasks)
  return it
}

describe('ADAPTER-125: of three tasks the first works no more, and the two others change what they share', () => {
  test.each([
    ['is suspended', async (it: SharedWorld) => it.suspend('left')],
    ['is gone', async (it: SharedWorld) => it.removeTask('left')],
    ['has left it', (it: SharedWorld) => leave(it)],
    ['has left it to be kept', (it: SharedWorld) => leave(it), { whenUnselected: 'Keep' } as const],
  ])('it %s', async (_, stop, left?) => {
    const it = await applied({ tasks: THREE, retention: { left } }, ...ALL)
    await stop(it)
    it.paint('blue')
    await settle(it, 'right', 'far')
    expect(health(it, 'right', 'far')).toEqual(['True', 'True'])
    expect(it.colourOf('all')).toBe('blue')
  })
})

test('ADAPTER-125: of two tasks each is the first of one object, and comes to that of the other before: both change what they share', async () => {
  const it = new SharedWorld({ isBare: false, delays: [0], readsAll: true, backwards: ['left'] })
  await it.run([{ task: 'left', cluster: 'c2' }])
  for (const one of runs('right', 'left')) {
    await it.rest()
    await it.run([one])
  }
  await settle(it, 'left', 'right')
  it.paint('blue')
  await settle(it, 'left', 'right')
  expect(health(it, 'left', 'right')).toEqual(['True', 'True'])
  expect([it.colourOf('all'), it.colourOf('of-c1')]).toEqual(['blue', 'blue'])
})

test('ADAPTER-125: the answer to the first task was lost, and both change what they share', async () => {
  for (let at = 0; at < 12; at++) {
    const it = new SharedWorld({ isBare: false, delays: [0], readsAll: true })
    await it.run(runs('left'), { task: 'left', at, does: 'cut', isDone: true })
    await it.rest()
    await it.run(runs('right'))
    it.paint('blue')
    await settle(it, 'left', 'right')
    expect([at, ...health(it, 'left', 'right')]).toEqual([at, 'True', 'True'])
  }
})

test('ADAPTER-125: a task beside the first has got what says whose an object is, and both change what they share', async () => {
  const it = await applied({}, 'left', 'right')
  const fields = { labels: { 'muster.dev/adapter': 'right' }, data: { colour: 'red' } }
  for (const name of ['all', 'of-c1']) it.forge({ name, manager: 'muster-adapter-n/right', fields })
  it.paint('blue')
  await settle(it, 'left', 'right')
  expect(health(it, 'left', 'right')).toEqual(['True', 'True'])
})

test('ADAPTER-125: a request is cut while a task waits for the first: the run says so', async () => {
  for (let at = 0; at < 12; at++) {
    const it = await applied({}, 'left', 'right')
    it.paint('blue', ['right'])
    await it.run(runs('right'), { task: 'right', at, does: 'cut', isDone: false })
    expect([at, ...health(it, 'left', 'right')]).toEqual([at, 'True', 'False'])
  }
})

test('ADAPTER-125: whatever happened to the tasks before, those that work apply what they change at the same time', async () => {
  const task = fc.constantFrom(...ALL)
  const cluster = fc.constantFrom(...CLUSTERS)
  const does = fc.constantFrom('cut' as const, 'kill' as const, 'wait' as const)
  const fault = fc.record({ task, at: fc.nat(16), does, isDone: fc.boolean() })
  const some = fc.subarray(
    ALL.flatMap((one) => CLUSTERS.map((id) => ({ task: one, cluster: id }))),
    { minLength: 1 },
  )
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ runs: some, fault: fc.option(fault, { nil: undefined }) }) },
    { weight: 2, arbitrary: fc.record({ task, cluster, isSelected: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ colour: fc.constantFrom('blue', 'yellow'), tasks: fc.subarray(ALL) }) },
    { weight: 1, arbitrary: fc.record({ stopped: task, isGone: fc.boolean() }) },
  )
  const history = fc.record({
    steps: fc.array(step, { maxLength: 12 }),
    backwards: fc.subarray(ALL),
    keeps: fc.subarray(ALL),
    delays: fc.array(fc.nat(5), { minLength: 1, maxLength: 40 }),
  })
  await fc.assert(
    fc.asyncProperty(history, async ({ steps, backwards, keeps, delays }) => {
      const retention = Object.fromEntries(keeps.map((one) => [one, { whenUnselected: 'Keep' as const }]))
      const it = new SharedWorld({ isBare: false, delays, readsAll: true, tasks: THREE, backwards, retention })
      const stopped = new Set<TaskName>()
      const works = (one: { readonly task: TaskName }) => !stopped.has(one.task)
      for (const one of steps)
        if ('runs' in one) await it.run(one.runs.filter(works), one.fault)
        else if ('isSelected' in one) it.select(one.task, one.cluster, one.isSelected)
        else if ('colour' in one) it.paint(one.colour, one.tasks)
        else if (stopped.add(one.stopped) && one.isGone) it.removeTask(one.stopped)
        else it.suspend(one.stopped)
      it.paint('green')
      const working = ALL.flatMap((name) => CLUSTERS.map((id) => ({ task: name, cluster: id }))).filter(works)
      for (let round = 0; round < 8; round++) {
        await it.rest()
        await it.run(working)
      }
      const served = working.filter((one) => it.isServed(one))
      expect(served.filter((one) => it.conditionOf(one, 'Health') !== 'True')).toEqual([])
      const wanted = served.flatMap((one) => wantedBy(one.task, one.cluster))
      expect(wanted.filter((name) => it.colourOf(name) !== 'green')).toEqual([])
    }),
    { numRuns: 200 },
  )
}, 240_000)
