/** What the operator knows, as others in the process read it: the rows of `FleetView`. */

import type { DeploymentRow, DeviceRow, FleetView, PlacementRow } from '#apis/fleet.nationtech.io/fleet-view.ts'
import type { DeploymentCache } from './cache/deployments.ts'
import type { DeviceCache } from './cache/devices.ts'
import { explainOffender } from './state/explain-placement.ts'
import type { MatchedPlacement } from './state/fleet-queries.ts'
import type { FleetState } from './state/fleet-state.ts'
import { placementPhase } from './state/placement.ts'
import { countPhases } from './status/device-status.ts'

export interface FleetViewInput {
  readonly state: FleetState
  readonly deployments: DeploymentCache
  readonly devices: DeviceCache
  readonly recovery: FleetView['recovery']
}

export const createFleetView = (
  { state, deployments, devices, recovery }: FleetViewInput,
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
          revision: deployments.revisions(key)?.target.revision ?? 0,
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
        deployments: countPhases(
          [...state.placedOn(name)].map((known) => placementPhase(known.deployment, known.device, known)),
        ),
      }
    }),
  ofDeployment: (key) => [...state.matched(key)].map(buildPlacementRow),
  ofDevice: (name) => [...state.placedOn(name)].map(buildPlacementRow),
})

/** FLEET-100. */
export const buildPlacementRow = (known: MatchedPlacement): PlacementRow => {
  const { deployment, device, entry, reported } = known
  const phase = placementPhase(deployment, device, known)
  const answer = reported?.state.uid === deployment.uid ? reported.state : undefined
  return {
    deployment: deployment.key,
    device: device.name,
    phase,
    givenRevision: entry?.desired?.payload.revision,
    answered: answer?.revision,
    message: explainOffender(deployment, known, phase) ?? answer?.message,
    at: answer?.at,
  }
}
