/** `muster fleet drill`: what a release would do, told before it does. */
import { connect } from '@nats-io/transport-node'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LookFailure } from '#cmd/failure.ts'
import { drill } from '#cmd/fleet/drill.ts'
import { startNats, tcpProxy } from '#test/harness/index.ts'
import { rawHeaders, UNDECODABLE } from '#test/harness/raw-headers.ts'
import { type FleetWorld, fleetWorld, scoreOf } from './world.ts'

vi.setConfig({ testTimeout: 180_000 })

let world: FleetWorld

beforeEach(async () => {
  world = await fleetWorld()
})

afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
})

/** What `muster fleet drill` of this checkout says. */
const drilled = async (natsUrl = world.nats.url) => {
  const { text, isOpen } = await drill({
    natsUrl,
    natsCredentials: undefined,
    namespace: world.namespace,
    output: 'json',
    kubeconfig: await world.kubeconfig(),
    context: undefined,
  })
  return { ...JSON.parse(text), isOpen }
}

// FLEET-66
test('upgrade_gate: a fleet that is as it should be is told to stay as it is, and every difference is named without being made', async () => {
  const operator = await world.operator()
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  const machines = [await world.device('a', { ring: 'x' }), await world.device('b', { ring: 'x' })] as const
  await world.deploy('web', { targetSelector: { matchLabels: { ring: 'x', world: world.namespace } } })
  await world.deploy('all')
  for (const machine of machines) {
    await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1, all: 1 }))
    await machine.say('web')
  }
  await operator.stop()
  const nothing = { revisions: [], puts: [], deletes: [], conflicts: [], waiting: [], later: [], problems: [] }
  expect(await drilled()).toEqual({ ...nothing, isOpen: false })

  const revision = await world.revision('fleet-desired')
  await world.change('web', { spec: { targetSelector: { matchLabels: { ring: 'y' } } } })
  await world.change('all', { spec: { score: scoreOf('next') } })
  const [a, b] = machines.map(({ name }) => name)
  await world.bucket('fleet-desired', (kv) => kv.delete(`${b}.${world.namespace}.all`))
  expect(await drilled()).toEqual({
    ...nothing,
    revisions: [expect.stringMatching(new RegExp(`^${world.namespace}/all-.*@2$`))],
    puts: [`${b}.${world.namespace}.all`],
    deletes: [a, b].map((name) => ({ key: `${name}.${world.namespace}.web`, reason: 'NotMatched' })),
    isOpen: true,
  })
  expect(await world.revision('fleet-desired')).toBe(revision + 1)
})

// NATS-11
test('attack: what devices wrote can’t be decoded, and the drill tells all the rest', async () => {
  const operator = await world.operator()
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  const machine = await world.device('a')
  await world.deploy('web')
  await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1 }))
  await operator.stop()
  const connection = await connect({ servers: world.nats.url })
  for (const [n, headers] of [...UNDECODABLE, 'NATS/1.0 503\r\n\r\n'].entries())
    connection.publish(`$KV.fleet-state.stolen.${world.namespace}.none-${n}`, '', { headers: rawHeaders(headers) })
  for (let n = 0; n < 3_000; n += 1) connection.publish(`$KV.fleet-state.stolen.${world.namespace}.more-${n}`, 'x')
  await connection.drain()
  // What comes behind those that can't be read.
  await machine.say('web', { revision: 7 })
  const key = `${machine.name}.${world.namespace}.web`
  expect(await drilled()).toMatchObject({ puts: [], deletes: [], conflicts: [{ key, reason: 'ConflictPaused' }] })
})

// FLEET-102, FLEET-66
test('where NATS is cut off while it is read, the drill judges nothing and says how much had come', async () => {
  const operator = await world.operator()
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  await operator.stop()
  const connection = await connect({ servers: world.nats.url })
  for (let n = 0; n < 1_000; n += 1)
    connection.publish(`$KV.fleet-state.gone.${world.namespace}.more-${n}`, 'x'.repeat(500))
  await connection.drain()
  await using proxy = await tcpProxy(world.nats.url)
  proxy.endAfter(200_000)
  await expect(drilled(proxy.url)).rejects.toThrow(
    /^the bucket fleet-state was cut off after \d+ entries, with \d+ to come: the connection to NATS broke/,
  )
})

// GITOPS-55
test('of a NATS without the fleet’s buckets, as that of another program, the drill judges nothing', async () => {
  await using other = await startNats()
  await expect(drilled(other.url)).rejects.toThrow(
    new LookFailure(
      '--nats-url: there is no bucket fleet-desired: name the NATS of the fleet; its operator makes the buckets when it first runs',
    ),
  )
})
