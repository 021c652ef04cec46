/** The five recovery scenarios, as far as they are decided without servers; test/integration/fleet/recovery.test.ts has them with servers. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deploymentOf, deviceOf, World } from '#test/worlds/fleet/builders.ts'
import { UnneededKeyBrake } from './unneeded-keys.ts'

/** Two devices that run `web`. */
const healthy = (): World => {
  const world = new World()
  world.deploy(deploymentOf('web'))
  world.join(deviceOf('a'), deviceOf('b'))
  world.store(world.operator())
  world.say('a', 'web')
  world.say('b', 'web')
  return world
}

// FLEET-1
test('aggregator_converges_from_kv_after_restart: bytes are equal, counts are rebuilt, and nothing is written', () => {
  const world = healthy()
  const before = world.desired.texts()
  const restarted = world.operator()
  expect(restarted.takeWrites()).toEqual([])
  expect(world.desired.texts()).toEqual(before)
  expect(restarted.aggregate('shop/web')).toMatchObject({ matched: 2, targeted: 2, updated: 2, succeeded: 2 })
})

// FLEET-3
test('aggregator_gcs_desired_state_for_deleted_cr: its keys are orphans when the operator has converged', () => {
  const world = healthy()
  world.deploy(deploymentOf('api'))
  world.store(world.operator())
  world.deployments.delete('web')
  const restarted = world.operator()
  expect(restarted.takeWrites()).toEqual([])
  expect(restarted.keyCount).toBe(4)
  expect(new UnneededKeyBrake().decide(restarted.unneededKeys(), restarted.keyCount, undefined, 0)).toMatchObject({
    held: undefined,
    free: [
      { key: 'a.shop.web', reason: 'DeploymentGone', revision: 1, isInherited: true },
      { key: 'b.shop.web', reason: 'DeploymentGone', revision: 2, isInherited: true },
    ],
  })
})

// FLEET-6
test('two_aggregators_produce_identical_desired_state: when one has written, the other has nothing to write', () => {
  const world = new World()
  world.deploy(deploymentOf('web'))
  world.join(deviceOf('a'), deviceOf('b'))
  const [first, second] = [world.operator(), world.operator()]
  const writes = second.takeWrites()
  expect(first.takeWrites()).toEqual(writes)
  for (const { key } of writes) {
    first.retry(key)
    second.retry(key)
  }
  world.store(first, 1)
  world.store(second)
  for (const operator of [first, second]) for (const seen of world.desired.replay()) operator.desiredSeen(seen)
  expect([world.store(first), world.store(second), world.desired.revision]).toEqual([0, 0, 2])
  expect([first.unneededKeys(), second.unneededKeys()]).toEqual([[], []])
})

// FLEET-8
test('device_offline_during_restart_counts_as_pending, until it reports', () => {
  const world = new World()
  world.deploy(deploymentOf('web'))
  world.join(deviceOf('a'), deviceOf('b'))
  world.store(world.operator())
  world.say('a', 'web')
  world.heartbeats.delete('b')
  const restarted = world.operator()
  expect(restarted.aggregate('shop/web')).toMatchObject({ matched: 2, succeeded: 1, pending: 1, offline: 0 })
  restarted.heartbeatSeen(world.beat('b'))
  restarted.stateSeen(world.say('b', 'web'))
  expect(restarted.aggregate('shop/web')).toMatchObject({ matched: 2, succeeded: 2, pending: 0 })
})

// FLEET-9
test('chaos_kill_under_write_load_converges: killed after any write, the last operator stores what one that was never killed does', () => {
  const names = ['d0', 'd1', 'd2', 'd3', 'd4']
  const load = (world: World, killedAfter: readonly number[]): Record<string, string> => {
    world.join(deviceOf('a'), deviceOf('b'), deviceOf('c'))
    names.forEach((name, i) => {
      world.deploy(deploymentOf(name))
      world.store(world.operator(), killedAfter[i])
    })
    world.store(world.operator())
    return world.desired.texts()
  }
  const expected = load(new World(), [])
  expect(Object.keys(expected)).toHaveLength(15)
  fc.assert(
    fc.property(fc.array(fc.nat(4), { minLength: 5, maxLength: 5 }), (killedAfter) => {
      const world = new World()
      expect(load(world, killedAfter)).toEqual(expected)
      // Nothing was written twice.
      expect(world.desired.revision).toBe(15)
    }),
  )
})
