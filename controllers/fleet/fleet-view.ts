/** What the operator knows, as others in the process read it: the rows of `FleetView`. */

import type { DeploymentRow, DeviceRow, FleetView, PlacementRow } from '#apis/fleet.nationtech.io/fleet-view.ts'
import type { Deployments } from './cache/deployments.ts'
import type { Devices } from './cache/devices.ts'
import type { FleetState, Placed } from './state/fleet-state.ts'
import { standingOf } from './state/placement.ts'
import { countStandings } from './status/device-status.ts'

export interface Shown {
  readonly state: FleetState
  readonly deployments: Deployments
  readonly devices: Devices
  readonly recovery: FleetView['recovery']
}

export const viewOf = (
  { state, deployments, devices, recovery }: Shown,
  onChange: FleetView['onChange'],
): FleetView => ({
  recovery,
  onChange,
  deployments: () =>
    [...deployments.keys()].flatMap((key): DeploymentRow[] => {
      const object = deployments.object(key)
      const aggregate = state.aggregate(key)
      if (object === undefined || aggregate === undefined) return []
      return [
        {
          key,
          aggregate,
          revision: deployments.rolled(key)?.target.revision ?? 0,
          rollout: object.status?.rollout,
          isDeleting: object.metadata.deletionTimestamp !== undefined,
        },
      ]
    }),
  devices: () =>
    [...devices.names()].map((name): DeviceRow => {
      const { metadata, spec, status } = devices.object(name) ?? {}
      return {
        name,
        labels: metadata?.labels ?? {},
        isAlive: state.isAlive(name),
        lastSeen: devices.lastSeen(name) ?? (status?.lastSeen === undefined ? undefined : new Date(status.lastSeen)),
        agentVersion: devices.info(name)?.agentVersion ?? status?.agentVersion,
        isPinned: spec?.pinned ?? false,
        deployments: countStandings(
          [...state.placedOn(name)].map((known) => standingOf(known.deployment, known.device, known)),
        ),
      }
    }),
  ofDeployment: (key) => [...state.matched(key)].map(rowOf),
  ofDevice: (name) => [...state.placedOn(name)].map(rowOf),
})

const rowOf = (known: Placed): PlacementRow => {
  const { deployment, device, entry, said } = known
  const answer = said?.state.uid === deployment.uid ? said.state : undefined
  return {
    deployment: deployment.key,
    device: device.name,
    standing: standingOf(deployment, device, known),
    given: entry?.desired?.payload.revision,
    answered: answer?.revision,
    message: answer?.message,
    at: answer?.at,
  }
}
