/**
 * Whatever happens to tasks, resources, labels and managers, in the end nothing that was applied is there without its record, and no
 * deletion waits that has nothing left to wait for. The cluster and the API are in memory, and managers are killed between any two
 * of their requests.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type KillableWorld, killableWorld } from '#test/worlds/adapter/killable-world.ts'

/** Objects of a resource of a task: by id alone, by generation, or two that are deleted in an order. */
const SHAPES = ['plain', 'numbered', 'ordered', 'created anew'] as const

const step = fc.oneof(
  fc.record({ does: fc.constant('pulse' as const), kill: fc.option(fc.nat(12), { nil: undefined }) }),
  fc.record({ does: fc.constantFrom('change', 'delete', 'force', 'relabel', 'select', 'hold', 'release', 'refuse') }),
  fc.record({ does: fc.constant('task' as const), shapes: fc.uniqueArray(fc.constantFrom(...SHAPES)) }),
)

const act = async (
  world: KillableWorld,
  one: { does: string; kill?: number | undefined; shapes?: readonly string[] },
) => {
  switch (one.does) {
    case 'pulse':
      return world.pulse(one.kill)
    case 'change':
      return world.change()
    case 'delete':
      return world.delete()
    case 'force':
      return world.force()
    case 'relabel':
      return world.relabel(false)
    case 'select':
      return world.relabel(true)
    case 'hold':
      return world.hold(true)
    case 'release':
      return world.hold(false)
    case 'refuse':
      return world.refuse()
    default:
      return world.declare(one.shapes ?? [])
  }
}

test('ADAPTER-62, ADAPTER-66: nothing is there without its record, and nothing waits for nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), fc.boolean(), async (steps, isDeleted) => {
      const world = killableWorld()
      world.declare(['plain', 'numbered'])
      for (const one of steps) await act(world, one)
      world.hold(false)
      if (isDeleted) world.delete()
      for (let round = 0; round < 8; round++) await world.pulse()
      if (world.isServed) expect(world.superseded()).toEqual([])
      else expect(world.objects()).toEqual([])
      expect(world.isWaiting).toBe(false)
    }),
    { numRuns: 300 },
  )
})
