/**
 * A region of devices is gone for a day, and comes back with clocks that are wrong. Real agents, a real operator, NATS and an API server.
 *
 * The day is short: of all that a device leaves in NATS only its heartbeat ends with time (FLEET-15), and the test ends it; everything else goes
 * by revisions, of which the day has as many as a long one.
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { type TcpProxy, tcpProxy } from '#test/harness/index.ts'
import { type AgentUnderTest, program, startAgent } from '../../integration/agent/world.ts'
import { converged, type FleetWorld, fleetWorld } from '../../integration/fleet/world.ts'

const DAY_MS = 24 * 3_600_000

const sleeping = (seconds: number) => program(`exec sleep ${seconds}`)

let world: FleetWorld
let network: TcpProxy

beforeEach(async () => {
  world = await fleetWorld()
  network = await tcpProxy(world.nats.url)
})

afterEach(async () => {
  await network?.stop()
  await world?.[Symbol.asyncDispose]()
})

const stateOfAll = async (name: string) => (await world.deployment(name))?.status?.aggregate

/** Whether the device is there, as people see it. */
const isReady = async (device: string): Promise<string | undefined> =>
  findCondition((await world.kube.get(Device, device))?.status?.conditions, 'Ready')?.status

// FLEET-8, FLEET-10, FLEET-15, FLEET-53, AGENT-5
test('a region is away for a day, with clocks a day behind and a day ahead when it is back: what it is to keep runs on, and the rest is caught up', {
  timeout: 300_000,
}, async () => {
  const args = [`--labels=world=${world.namespace}`]
  const [behind, ahead, near] = ['behind', 'ahead', 'near'].map((one) => `${one}-${world.namespace.slice(-8)}`) as [
    string,
    string,
    string,
  ]
  await using stack = new AsyncDisposableStack()
  const start = async (device: string, url: string, more: { stateDir?: string; skew?: number } = {}) =>
    stack.use(await startAgent(device, url, { args, ...more }))
  const operator = await world.process()
  await converged(operator)
  const region = [await start(behind, network.url), await start(ahead, network.url)]
  await start(near, world.nats.url)
  const programsOf = (agent: AgentUnderTest, device: string, name: string) =>
    agent.programs(`${device}.${world.namespace}.${name}`)
  const regionPrograms = (name: string) =>
    Promise.all([behind, ahead].map((device, index) => programsOf(region[index] as AgentUnderTest, device, name)))
  const runsOnAll = (name: string) =>
    world.until(async () => expect(await stateOfAll(name)).toMatchObject({ matched: 3, succeeded: 3 }))

  for (const name of ['kept', 'changed', 'withdrawn']) await world.deploy(name, { score: sleeping(1_000) })
  for (const name of ['kept', 'changed', 'withdrawn']) await runsOnAll(name)
  const kept = await regionPrograms('kept')
  expect(kept.map((programs) => programs.length)).toEqual([1, 1])

  // The region is gone. Its last heartbeats expire.
  network.refuse()
  network.cut()
  for (const device of [behind, ahead]) await world.bucket('fleet-heartbeat', (kv) => kv.purge(device))
  for (const device of [behind, ahead]) await world.until(async () => expect(await isReady(device)).toBe('Unknown'))
  await world.until(async () => expect(await stateOfAll('kept')).toMatchObject({ matched: 3, offline: 2 }))

  // The day: commits go on, and the operator is replaced.
  await world.change('changed', { spec: { score: sleeping(2_000) } })
  await world.kube.delete(Deployment, 'withdrawn', world.namespace)
  await world.deploy('added', { score: sleeping(3_000) })
  operator.signal('SIGKILL')
  await operator.exited
  const next = await world.process()
  await converged(next)
  await world.change('changed', { spec: { score: sleeping(4_000) } })
  await world.until(async () => expect(await stateOfAll('added')).toMatchObject({ succeeded: 1 }))
  // What runs in the region runs on: nothing reaches it.
  expect(await regionPrograms('kept')).toEqual(kept)
  expect((await regionPrograms('withdrawn')).map((programs) => programs.length)).toEqual([1, 1])

  // It is back, and no clock is right. The programs are those from before: agents leave them.
  for (const agent of region) await agent.kill()
  const skews = [-DAY_MS, DAY_MS]
  for (const [index, device] of [behind, ahead].entries()) {
    const { stateDir } = region[index] as AgentUnderTest
    region[index] = await start(device, network.url, { stateDir, skew: skews[index] as number })
  }
  network.accept()
  for (const name of ['kept', 'changed', 'added']) await runsOnAll(name)
  await world.until(async () => expect(await regionPrograms('withdrawn')).toEqual([[], []]))
  for (const device of [behind, ahead]) await world.until(async () => expect(await isReady(device)).toBe('True'))
  expect(await regionPrograms('kept')).toEqual(kept)

  // What comes next is taken from them as from any other.
  await world.change('changed', { spec: { score: sleeping(5_000) } })
  await world.until(async () => {
    const { status, metadata } = (await world.deployment('changed')) as Deployment
    expect(status?.observedGeneration).toBe(metadata.generation)
    expect(status?.aggregate).toMatchObject({ matched: 3, succeeded: 3 })
  })
  expect(await regionPrograms('kept')).toEqual(kept)
})
