import { expect, test } from 'vitest'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { SourceContext } from '#operator/engine/context.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import type { Resource } from '#operator/model/resource.ts'
import { DeploymentCache } from '../cache/deployments.ts'
import { DeviceCache } from '../cache/devices.ts'
import { ControllerRevision } from '../rollout/controllerrevision.ts'
import { FleetState } from '../state/fleet-state.ts'
import { initialSyncStates, sourceSyncState, withSyncEvent } from '../state/sync-state.ts'
import { followKubernetes } from './kubernetes.ts'

/** The kinds as they are followed, and how the sources stand after what their watches tell. */
const followed = () => {
  const tellers = new Map<string, (message: string | undefined) => void>()
  const follow: SourceContext['follow'] = (resource, { watchProblem }) => {
    tellers.set(resource.kind, (message) =>
      watchProblem(
        message === undefined ? undefined : { resource, namespace: undefined, reason: 'Unreachable', message },
      ),
    )
  }
  const state = new FleetState()
  const refuse = () => Promise.reject(new Error('nothing is asked for'))
  const api = { create: refuse, get: refuse, delete: refuse }
  const deployments = new DeploymentCache({ state, api, clock: systemClock, log: silent })
  const devices = new DeviceCache(state, systemClock, 'fleet/lease')
  let states = initialSyncStates(new Date(0))
  const syncChanged: Parameters<typeof followKubernetes>[0]['listener']['syncChanged'] = (feed, event) => {
    states = withSyncEvent(states, feed, event, new Date(0))
  }
  followKubernetes({ deployments, devices, listener: { syncChanged, changed: () => {} } }, follow)
  return {
    tell: (kind: Resource, problem: string | undefined) => tellers.get(kind.kind)?.(problem),
    deployments: () => sourceSyncState(states, 'deployments'),
    devices: () => sourceSyncState(states, 'devices'),
  }
}

// FLEET-71
test('while the revisions can’t be watched the Deployments are Degraded, also when these are watched again', () => {
  const { tell, deployments } = followed()
  expect(deployments()).toMatchObject({ phase: 'Converged' })
  tell(Deployment, 'away')
  tell(ControllerRevision, 'forbidden')
  tell(Deployment, undefined)
  expect(deployments()).toMatchObject({ phase: 'Degraded', problem: 'forbidden' })
  tell(ControllerRevision, undefined)
  expect(deployments()).toMatchObject({ phase: 'Converged' })
})

// FLEET-11
test('Devices stand by themselves', () => {
  const { tell, deployments, devices } = followed()
  tell(Device, 'away')
  expect(deployments()).toMatchObject({ phase: 'Converged' })
  // Infos are not read yet.
  expect(devices()).toMatchObject({ phase: 'Recovering' })
})
