/** A bucket that is full, and labels that an earlier release took from agents. */
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { type FleetWorld, fleetWorld, type Running, scoreOf } from './world.ts'

let world: FleetWorld

beforeEach(async () => {
  world = await fleetWorld()
})

afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
})

const converged = (operator: Running) => world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))

const limitTo = async (bucket: string, bytes: number) => {
  const connection = await connect({ servers: world.nats.url, reconnect: false })
  try {
    await (await jetstreamManager(connection)).streams.update(`KV_${bucket}`, { max_bytes: bytes })
  } finally {
    await connection.close()
  }
}

const limitOf = async (bucket: string) =>
  world.bucket(bucket as 'fleet-state', async (kv) => (await kv.status()).streamInfo.config.max_bytes)

// FLEET-91
test('a full fleet-desired: the Deployment says so, others go in, and it goes on by itself when there is room', async () => {
  const operator = await world.operator()
  await converged(operator)
  const machine = await world.device('a')
  await limitTo('fleet-desired', 20_000)
  await world.deploy('large', {
    score: { type: 'Process', data: { command: Array.from({ length: 10 }, () => 'x'.repeat(3_000)) } },
  })
  const reconciling = async () =>
    (await world.deployment('large'))?.status?.conditions?.find(({ type }) => type === 'Reconciling')
  await world.until(async () =>
    expect(await reconciling()).toMatchObject({
      status: 'True',
      reason: 'StoreFull',
      message: expect.stringContaining('the entries of 1 devices could not be stored'),
    }),
  )
  await world.deploy('small')
  await world.until(async () => expect(await machine.wanted()).toEqual({ small: 1 }))
  const refused = await operator.registry.getSingleMetricAsString('muster_fleet_refused_writes_total')
  expect(refused).not.toContain('muster_fleet_refused_writes_total 0')

  // What an entry has room for goes in also where nothing else does.
  await world.change('small', { spec: { score: scoreOf('tiny') } })
  await world.until(async () => expect(await machine.wanted()).toEqual({ small: 2 }))

  await limitTo('fleet-desired', 200_000)
  await world.until(async () => expect(await machine.wanted()).toEqual({ small: 2, large: 1 }))
  await world.until(async () => expect((await reconciling())?.reason).not.toBe('StoreFull'))
})

// FLEET-90
test('a bucket of an earlier release gets a limit; one that an administrator gave stays', async () => {
  const first = await world.operator()
  await converged(first)
  const given = await limitOf('fleet-info')
  await first.stop()
  await limitTo('fleet-info', -1)
  await limitTo('fleet-state', 12_345_678)
  await converged(await world.operator())
  expect(given).toBeGreaterThan(0)
  expect(await limitOf('fleet-info')).toBe(given)
  expect(await limitOf('fleet-state')).toBe(12_345_678)
})

// FLEET-93
test('labels that a release before took from an agent stay when they are not its own any more, until a person takes them away', async () => {
  const before = await world.operator()
  await converged(before)
  const machine = await world.device('a', { ring: 'x' })
  await world.deploy('web', { targetSelector: { matchLabels: { ring: 'x', world: world.namespace } } })
  await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1 }))
  await before.stop()

  const operator = await world.operator({ deviceLabels: ['site'] })
  await converged(operator)
  await machine.tell({ ring: 'y', site: 'north' })
  const labels = async () => (await world.kube.get(Device, machine.name))?.metadata.labels
  await world.until(async () => expect(await labels()).toEqual({ ring: 'x', site: 'north', world: world.namespace }))
  expect(await machine.wanted()).toEqual({ web: 1 })

  await world.kube.patch(Device, { name: machine.name, type: 'merge', body: { metadata: { labels: { ring: null } } } })
  await world.until(async () => expect(await machine.wanted()).toEqual({}))
  await machine.tell({ ring: 'x', site: 'south' })
  await world.until(async () => expect(await labels()).toEqual({ site: 'south', world: world.namespace }))
})
