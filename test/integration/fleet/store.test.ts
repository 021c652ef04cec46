/** The store of NATS loses something without a word: it goes back to a backup, or is purged. */
import { cp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type FleetWorld, fleetWorld, type Running, scoreOf } from './world.ts'

vi.setConfig({ testTimeout: 180_000 })

let world: FleetWorld

beforeEach(async () => {
  world = await fleetWorld()
})

afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
})

const converged = (operator: Running) => world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))

const placement = (operator: Running, device: string) =>
  operator.view.ofDeployment(`${world.namespace}/web`).find((row) => row.device === device)

/** An operator, and two devices that run `web`. */
const deployed = async () => {
  const operator = await world.operator()
  await converged(operator)
  const machines = [await world.device('a'), await world.device('b')] as const
  await world.deploy('web')
  for (const machine of machines) {
    await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1 }))
    await machine.say('web')
  }
  return { operator, machines }
}

/** The server is killed, its folder exchanged by `work`, and started again. */
const whileStopped = async (work: (store: string) => Promise<void>): Promise<void> => {
  await world.nats.kill()
  await work(join(dirname(world.nats.logFile), 'jetstream'))
  await world.nats.restart()
}

// FLEET-63
test('store_went_back: a server whose store was restored from a backup gets what it lost, and what devices report counts again', async () => {
  const { operator, machines } = await deployed()
  const [a, b] = machines
  await world.deploy('old')
  await world.until(async () => expect(await a.wanted()).toEqual({ web: 1, old: 1 }))
  const backup = await temporaryFolder('backup')
  await whileStopped((store) => cp(store, backup, { recursive: true }))
  await converged(operator)

  await world.change('web', { spec: { score: scoreOf('second') } })
  await world.deploy('late')
  await world.kube.delete(Deployment, 'old', world.namespace)
  for (const machine of machines) {
    await world.until(async () => expect(await machine.wanted()).toEqual({ web: 2, late: 1 }))
    for (let i = 0; i < 5; i += 1) await machine.say('web', { message: `${i}` })
  }
  await world.until(() => expect(placement(operator, a.name)).toMatchObject({ answered: 2 }))
  const before = await world.texts('fleet-desired')

  await whileStopped(async (store) => {
    await rm(store, { recursive: true })
    await cp(backup, store, { recursive: true })
  })
  await rm(backup, { recursive: true })
  await world.until(() =>
    expect(operator.lines.filter((line) => line.includes('is not the one that was read'))).not.toEqual([]),
  )
  await converged(operator)
  // `old` is not in Kubernetes any more: what the backup had of it goes as an orphan.
  await world.until(async () => expect(await world.texts('fleet-desired')).toEqual(before))
  // Its revision is lower than that of the reports before, and it counts.
  await a.say('web', { phase: 'Failed', message: 'no such file' })
  await world.until(() => expect(placement(operator, a.name)).toMatchObject({ phase: 'failed', answered: 2 }))
  await b.silence()
  await world.until(() => expect(operator.view.devices().find(({ name }) => name === b.name)?.isAlive).toBe(false))
})

// FLEET-64
test('purged_on_a_live_session: what was purged past the watch is written again', async () => {
  const { operator, machines } = await deployed()
  const before = await world.texts('fleet-desired')
  const connection = await connect({ servers: world.nats.url, reconnect: false })
  const { streams } = await jetstreamManager(connection)
  await streams.purge('KV_fleet-desired')
  await world.until(async () => expect(await world.texts('fleet-desired')).toEqual(before))
  await converged(operator)

  // One key of several, and a device that says nothing more.
  await streams.purge('KV_fleet-desired', { filter: `$KV.fleet-desired.${machines[0].name}.>` })
  await streams.purge('KV_fleet-heartbeat')
  await connection.close()
  await world.until(async () => expect(await world.texts('fleet-desired')).toEqual(before))
  await world.until(() => {
    const alive = operator.view.devices().filter(({ isAlive }) => isAlive)
    expect(alive.filter(({ name }) => machines.some((machine) => machine.name === name))).toEqual([])
  })
  await converged(operator)
  const metric = await operator.registry.getSingleMetricAsString('muster_fleet_nats_problems_total')
  expect(metric).toContain('reason="BucketPurged"')
})
