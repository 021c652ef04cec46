/**
 * The five recovery scenarios, on a real NATS server and a real API server. The operator is a
 * process, and it is killed: SIGKILL.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { repetitions } from '#test/harness/deep.ts'
import type { MusterProcess, RequestProxy } from '#test/harness/index.ts'
import { program, startAgent } from '../agent/world.ts'
import { converged, type FleetWorld, fleetWorld, type Machine } from './world.ts'

/** FLEET-9. Milliseconds. */
const THIRTY_SECONDS = { timeout: 30_000, interval: 50 }

let world: FleetWorld

beforeEach(async () => {
  world = await fleetWorld()
})

afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
})

const killed = async (operator: MusterProcess): Promise<void> => {
  operator.signal('SIGKILL')
  await operator.exited
}

const aggregate = async (name: string) => (await world.deployment(name))?.status?.aggregate

const devices = () => Array.fromAsync(world.kube.list(Device, { labelSelector: `world=${world.namespace}` }))

/** Three devices that Kubernetes knows, and no operator any more. */
const registered = async (): Promise<readonly Machine[]> => {
  const operator = await world.process()
  await converged(operator)
  const machines = [await world.device('a'), await world.device('b'), await world.device('c')]
  await world.until(async () => expect(await devices()).toHaveLength(3))
  await killed(operator)
  return machines
}

/** An operator, two devices that run `web`, and its status says so. */
const healthy = async (): Promise<{ operator: MusterProcess; machines: readonly [Machine, Machine] }> => {
  const operator = await world.process()
  await converged(operator)
  const machines = [await world.device('a'), await world.device('b')] as const
  await world.deploy('web')
  for (const machine of machines) {
    await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1 }))
    await machine.say('web')
  }
  await world.until(async () => expect(await aggregate('web')).toMatchObject({ matched: 2, succeeded: 2 }))
  return { operator, machines }
}

// FLEET-1, RUNTIME-36
test('aggregator_converges_from_kv_after_restart: bytes are equal, counts are rebuilt, no key is written, and to Kubernetes only what changed', async () => {
  const { operator, machines } = await healthy()
  await killed(operator)
  const [before, revision] = [await world.texts('fleet-desired'), await world.revision('fleet-desired')]
  const [a, b] = machines
  await b.say('web', { phase: 'Failed', message: 'no such file' })
  await using proxy = await world.plane.proxy()
  await converged(await world.process({ server: proxy.server }))
  await world.until(async () => expect(await aggregate('web')).toMatchObject({ matched: 2, succeeded: 1, failed: 1 }))
  expect(await world.texts('fleet-desired')).toEqual(before)

  // The leader takes what an agent tells in a pass of its own: when it has, all that the start had to write was written before.
  await a.tell({ told: 'later' })
  await world.until(async () => expect((await world.kube.get(Device, a.name))?.metadata.labels).toHaveProperty('told'))
  expect(writesTo(proxy)).toEqual(['deployments/web/status', `devices/${b.name}/status`, `v1alpha1/devices/${a.name}`])
  // Each kind is watched once, for the state of the fleet and for the controller that is called.
  const watched = watchesOf(proxy)
  expect(watched).toEqual([...new Set(watched)])
  expect(watched).toEqual(expect.arrayContaining(['controllerrevisions', 'deployments', 'devices']))

  await world.deploy('later')
  for (const machine of machines)
    await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1, later: 1 }))
  expect(await world.revision('fleet-desired')).toBe(revision + machines.length)
})

/** What an operator wrote to Kubernetes: all but its Lease, and what it tells people. */
const writesTo = (proxy: RequestProxy): readonly string[] =>
  proxy
    .requests()
    .filter(({ method, path }) => method !== 'GET' && !/\/(leases|events|selfsubject\w+)\b/.test(path))
    .map(({ path }) => path.replace(/\?.*/, '').split('/').slice(-3).join('/'))
    .toSorted()

/** The kinds that it watches, each as often as it has asked for a watch. */
const watchesOf = (proxy: RequestProxy): readonly string[] =>
  proxy
    .requests()
    .filter(({ path }) => /[?&]watch=/.test(path))
    .map(({ path }) => path.replace(/\?.*/, '').split('/').at(-1) ?? '')
    .toSorted()

// FLEET-3
test('aggregator_gcs_desired_state_for_deleted_cr: the keys of a Deployment that was force-deleted go at convergence, and an agent stops its program', async () => {
  const { operator, machines } = await healthy()
  const device = `real-${world.namespace.slice(-8)}`
  await using agent = await startAgent(device, world.nats.url, { args: [`--labels=world=${world.namespace}`] })
  await world.change('web', { spec: { score: program('exec sleep 1000') } })
  const key = `${device}.${world.namespace}.web`
  await world.until(async () => expect(await agent.programs(key)).toHaveLength(1))
  await world.until(async () => expect(Object.keys(await world.texts('fleet-state'))).toContain(key))
  await killed(operator)
  await world.change('web', { metadata: { finalizers: null } })
  await world.kube.delete(Deployment, 'web', world.namespace)
  await converged(await world.process())
  for (const machine of machines) await world.until(async () => expect(await machine.wanted()).toEqual({}))
  await world.until(async () => expect(await agent.programs()).toEqual([]))
  await world.until(async () => expect(Object.keys(await world.texts('fleet-state'))).not.toContain(key))
})

// FLEET-6, FLEET-7
test('two_aggregators_produce_identical_desired_state: no orphan, no flapping, with either writer', async () => {
  const [first, second] = await Promise.all([world.process(), world.process()])
  await Promise.all([converged(first), converged(second)])
  const machines = [await world.device('a'), await world.device('b'), await world.device('c')]
  for (const name of ['one', 'two', 'three']) await world.deploy(name)
  for (const machine of machines)
    await world.until(async () => expect(await machine.wanted()).toEqual({ one: 1, two: 1, three: 1 }))
  const texts = await world.texts('fleet-desired')
  expect(Object.keys(texts)).toHaveLength(9)
  expect(new Set(Object.values(texts)).size).toBe(3)
  await killed(first)
  await converged(await world.process())
  // Two wrote, one died, a third came: each key was written once.
  expect(await world.revision('fleet-desired')).toBe(9)
  expect(await world.texts('fleet-desired')).toEqual(texts)
})

// FLEET-8
test('device_offline_during_restart_counts_as_pending, until it reports', async () => {
  const operator = await world.process()
  await converged(operator)
  const [a, b] = [await world.device('a'), await world.device('b')]
  await world.deploy('web')
  for (const machine of [a, b]) await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1 }))
  await a.say('web')
  await killed(operator)
  await b.silence()
  await converged(await world.process())
  await world.until(async () => expect(await aggregate('web')).toMatchObject({ succeeded: 1, pending: 1, offline: 0 }))
  await b.beat()
  await b.say('web')
  await world.until(async () => expect(await aggregate('web')).toMatchObject({ succeeded: 2, pending: 0 }))
})

// FLEET-9
test('chaos_kill_under_write_load_converges: within 30 s of its start, the last operator has written all', async () => {
  const machines = await registered()
  const first = await world.process()
  await converged(first)
  const names = ['d0', 'd1', 'd2', 'd3', 'd4']
  const load = (async () => {
    for (const name of names) await world.deploy(name)
  })()
  await killed(first)
  const second = await world.process()
  await Promise.race([converged(second), load])
  await killed(second)
  await load
  const began = performance.now()
  await world.process()
  const wanted = Object.fromEntries(names.map((name) => [name, 1]))
  await vi.waitFor(async () => {
    for (const machine of machines) expect(await machine.wanted()).toEqual(wanted)
  }, THIRTY_SECONDS)
  console.log(`chaos_kill_under_write_load_converges: ${((performance.now() - began) / 1000).toFixed(1)} s of 30 s`)
  expect(await world.revision('fleet-desired')).toBe(15)
}, 120_000)

/** Of each of two operators. */
const KILLS = repetitions({ deep: 50, slice: 6 })

test(`${2 * KILLS} kills at random moments, two operators at a time: nothing is lost, and nothing is written twice`, async () => {
  const machines = await registered()
  let made = 0
  const victims = async () => {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const operator = await world.process()
      // Half of them never come to the end of their start.
      await Promise.race([converged(operator), pause(Math.random() * 1_500)])
      if (kill % 5 === 0) await world.deploy(`d${made++}`)
      await pause(Math.random() * 200)
      await killed(operator)
    }
  }
  await Promise.all([victims(), victims()])
  await world.process()
  const wanted = Object.fromEntries(Array.from({ length: made }, (_, i) => [`d${i}`, 1]))
  for (const machine of machines) await world.until(async () => expect(await machine.wanted()).toEqual(wanted))
  expect(await world.revision('fleet-desired')).toBe(made * 3)
}, 600_000)
