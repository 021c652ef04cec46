/**
 * What a release without inventories has applied has labels alone. It is known until it is applied anew, whatever is written down
 * meanwhile and wherever managers are killed; and what others have labelled since is not taken for it.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type KillableWorld, killableWorld } from '#test/worlds/adapter/killable-world.ts'

const upgraded = (shapes: readonly string[], rest: object = {}, names?: readonly string[]): KillableWorld => {
  const world = killableWorld()
  world.declare(shapes, rest)
  world.applyAsBefore(names)
  return world
}

const deleteAll = async (world: KillableWorld) => {
  world.delete()
  for (let round = 0; round < 5; round++) await world.pulse()
  return world.objects()
}

describe('ADAPTER-64: what an earlier release has applied is known', () => {
  test('by each run of a deletion that takes several', async () => {
    const world = upgraded(['ordered'])
    world.hold(true)
    world.delete()
    await world.pulse()
    await world.pulse()
    expect([world.objects(), world.isWaiting]).toEqual([['first-c1', 'second-c1'], true])
    world.hold(false)
    expect(await deleteAll(world)).toEqual([])
  })

  test.each([
    ['applied nothing', { preconditions: [{ name: 'open', expression: 'has(resource.deleted_time)' }] }],
    ['failed', { params: [{ name: 'at', source: 'resource.deleted_time', required: true }] }],
  ])('after a run that %s', async (_, rest) => {
    const world = upgraded(['plain', 'selected'], rest)
    await world.pulse()
    expect(world.objects()).toEqual(['plain-c1', 'selected'])
    expect(await deleteAll(world)).toEqual([])
  })

  test('after a run that failed before it', async () => {
    const world = upgraded(['plain', 'ordered', 'selected'])
    world.refuse()
    await world.pulse()
    expect(await deleteAll(world)).toEqual([])
  })

  test('by its own condition while the resource lives', async () => {
    const world = upgraded(['plain', 'conditional'])
    world.change()
    world.change()
    await world.pulse()
    expect(world.objects()).toEqual(['plain-c1'])
  })
})

test('ADAPTER-64: labels on what was there before hinder nothing once the object itself is recorded', async () => {
  const world = upgraded(['selected'])
  await world.pulse()
  world.forge('forged', false)
  for (let round = 0; round < 3; round++) {
    world.change()
    await world.pulse()
    expect(world.objects()).toEqual(expect.arrayContaining(['forged', 'selected']))
  }
  expect(await deleteAll(world)).toEqual([])
})

const SHAPES = ['plain', 'created anew', 'ordered', 'selected', 'conditional'] as const
const killed = fc.record({
  does: fc.constant('pulse' as const),
  kill: fc.option(fc.nat(16), { nil: undefined }),
  isReportRefused: fc.boolean(),
})
const living = fc.oneof(
  { weight: 2, arbitrary: killed },
  fc.record({ does: fc.constantFrom('change', 'refuse', 'refuse report', 'hold', 'release') }),
)

const act = async (world: KillableWorld, one: { readonly does: string; readonly kill?: number | undefined }) => {
  if (one.does === 'pulse') return world.pulse(one.kill)
  if (one.does === 'change') return world.change()
  if (one.does === 'refuse') return world.refuse()
  if (one.does === 'refuse report') return world.refuseReport()
  return world.hold(one.does === 'hold')
}

const plan = fc.record({
  shapes: fc.uniqueArray(fc.constantFrom(...SHAPES), { minLength: 1 }),
  names: fc.subarray(['plain-c1', 'created_anew-c1', 'first-c1', 'second-c1', 'selected', 'conditional-c1']),
  isOpen: fc.boolean(),
  isForged: fc.boolean(),
  before: fc.array(living, { maxLength: 8 }),
  deleting: fc.array(killed, { maxLength: 6 }),
  isHeld: fc.boolean(),
})

test('ADAPTER-64: of what earlier releases have applied nothing is left, and nothing newer is taken for it', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ shapes, names, isOpen, isForged, before, deleting, isHeld }) => {
      const world = upgraded(shapes, isOpen ? {} : CLOSED, names)
      for (const one of before) await act(world, one)
      const forged = isForged && world.isRecorded ? ['forged'] : []
      for (const name of forged) world.forge(name)
      world.hold(isHeld)
      world.delete()
      for (const { kill, isReportRefused } of deleting) {
        if (isReportRefused) world.refuseReport()
        await world.pulse(kill)
      }
      world.hold(false)
      for (let round = 0; round < 6; round++) await world.pulse()
      expect([world.objects(), world.isWaiting]).toEqual([forged, false])
    }),
    { numRuns: 500 },
  )
})

const CLOSED = { preconditions: [{ name: 'open', expression: 'has(resource.deleted_time)' }] }

test('ADAPTER-115: until the API has the last report, the inventory says what the task’s was, and labels of others never do', async () => {
  const world = killableWorld()
  world.declare(['selected'])
  await world.pulse()
  world.forge('forged')
  world.delete()
  world.refuseReport()
  await world.pulse()
  expect([world.objects(), world.isWaiting, world.isRecorded]).toEqual([['forged'], true, true])
  await world.pulse()
  expect([world.objects(), world.isWaiting, world.isRecorded]).toEqual([['forged'], false, false])
})
