import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Api } from '#operator/client/api.ts'
import type { Events } from '#operator/client/events.ts'
import { silent } from '#operator/model/log.ts'
import { manualClock } from '#test/harness/index.ts'
import { deploymentOf, deviceOf } from '#test/worlds/fleet/builders.ts'
import { DeploymentCache } from '../cache/deployments.ts'
import { DeviceCache } from '../cache/devices.ts'
import { createFleetMetrics } from '../metrics.ts'
import { buildControllerRevision, type ControllerRevision } from '../rollout/controllerrevision.ts'
import { FleetState } from '../state/fleet-state.ts'
import { Leader } from './leader.ts'

/** A leader whose Deployments `r0`, `r1` … are for the devices of a ring each. It writes into `statuses`. */
const leading = async (count: number) => {
  const clock = manualClock()
  const state = new FleetState()
  const statuses: string[] = []
  const api = {
    replace: (_: unknown, object: Deployment) => {
      statuses.push(object.metadata.name)
      return Promise.resolve(object)
    },
  } as unknown as Api
  const deployments = new DeploymentCache({ state, api, clock, log: silent })
  for (let n = 0; n < count; n += 1) {
    const object = deploymentOf(`r${n}`, { selector: { matchLabels: { ring: `r${n}` } } })
    deployments.seen(object)
    const next = deployments.nextRevision(`shop/r${n}`)
    if (next === undefined) throw new Error('the first revision is to be stored')
    const stored = buildControllerRevision(object.metadata, next) as NonNullable<typeof ControllerRevision._object>
    deployments.revisionSeen(stored)
  }
  const woken: string[] = []
  let isConverged = true
  const leader = new Leader({
    state,
    deployments,
    devices: new DeviceCache(state, clock, 'shop/muster-fleet'),
    isConverged: () => isConverged,
    natsOutage: () => undefined,
    stores: () => undefined,
    wake: ({ name }) => {
      woken.push(name)
      void leader.reconcile(`shop/${name}`)
    },
    brake: () => {},
    api,
    events: { about: () => ({ normal() {}, warning() {} }) } as unknown as Events,
    lease: { name: 'muster-fleet', namespace: 'shop' },
    metrics: createFleetMetrics(new Registry()),
    clock,
    log: silent,
  })
  const ending = new AbortController()
  const running = leader.run(ending.signal)
  onTestFinished(async () => {
    ending.abort()
    await running
  })
  const taken = async () => {
    await clock.advance('1s')
    return woken.splice(0).toSorted()
  }
  const converge = (is: boolean) => {
    isConverged = is
  }
  return { state, leader, statuses, taken, converge }
}

// FLEET-24, FLEET-73
test('a change of a Device wakes the Deployments that it concerns, once a second and no others; all are woken at the start', async () => {
  const { state, statuses, taken } = await leading(50)
  expect(await taken()).toHaveLength(50)
  expect(await taken()).toEqual([])
  expect(statuses).toHaveLength(50)
  for (let n = 0; n < 20; n += 1) state.deviceSeen(deviceOf('gate', { ring: n % 2 === 0 ? 'r1' : 'r2' }))
  expect(await taken()).toEqual(['r1', 'r2'])
  expect(statuses.slice(50).toSorted()).toEqual(['r1', 'r2'])
})

// FLEET-73
test('what is to be done while a source is away for a moment is done when it is back', async () => {
  const { state, statuses, taken, converge } = await leading(1)
  await taken()
  converge(false)
  state.deviceSeen(deviceOf('gate', { ring: 'r0' }))
  expect(await taken()).toEqual([])
  converge(true)
  expect(await taken()).toContain('r0')
  expect(statuses).toHaveLength(2)
})

// FLEET-24
test('what wakes a Deployment between two ticks, as its own status does, writes no second status', async () => {
  const { state, leader, statuses, taken } = await leading(1)
  // It has to answer: the rollout is looked at each second.
  state.deviceSeen(deviceOf('gate', { ring: 'r0' }))
  await taken()
  const before = statuses.length
  for (let n = 0; n < 5; n += 1) await leader.reconcile('shop/r0')
  expect(statuses).toHaveLength(before)
  expect(await taken()).toEqual(['r0'])
  expect(statuses).toHaveLength(before + 1)
})
