/** A device as its rollout sees it. */
import {
  findBlockedReason,
  findRenderProblem,
  isDown,
  type PlacementFacts,
  placementPhase,
  rolloutProgress,
} from '../state/placement.ts'
import type { DeploymentView, DeviceView } from '../state/views.ts'
import type { Candidate } from './batches.ts'

export interface RolloutDevice extends Candidate {
  /** What became of the revision that is rolled out: not assigned yet, assigned, done, or failed. */
  readonly stage: 'Waiting' | 'Working' | 'Succeeded' | 'Failed'
  /** When it was assigned, in milliseconds since the epoch; undefined when that is unknown. */
  readonly assignedAt: number | undefined
  readonly isAlive: boolean
  /** Milliseconds since the epoch; undefined when it is online, or when that is unknown. */
  readonly offlineSince: number | undefined
  /** Something other than the rollout keeps changes off: it is no part of the count, and catches up later. */
  readonly isHeld: boolean
  /** Nothing was assigned to it, or what was assigned runs. */
  readonly isHealthy: boolean
  /** It says that what it was given does not run. Not so while it says nothing of it. */
  readonly isDown: boolean
}

const stageOf = (
  deployment: DeploymentView,
  known: PlacementFacts & { readonly device: DeviceView },
): RolloutDevice['stage'] => {
  const { isTargeted, isUpdated } = rolloutProgress(deployment, known.device, known)
  // What can't be filled in for it will not be assigned to it.
  if (!isTargeted) return findRenderProblem(deployment, known.device) === undefined ? 'Waiting' : 'Failed'
  if (!isUpdated) return 'Working'
  const phase = known.reported?.state.phase
  return phase === 'Running' ? 'Succeeded' : phase === 'Failed' ? 'Failed' : 'Working'
}

/** @param known One that matches. @param offlineSince Of the device, in milliseconds since the epoch. */
export const buildRolloutDevice = (
  deployment: DeploymentView,
  known: PlacementFacts & { readonly device: DeviceView },
  offlineSince?: number,
): RolloutDevice => {
  const { device, entry, isAlive } = known
  const stage = stageOf(deployment, known)
  const hold = findBlockedReason(deployment, device, known)
  const holdsItself = hold === undefined && placementPhase(deployment, device, known) === 'held'
  const assigned = entry?.desired?.payload
  const state = known.reported?.state
  const runs = state?.phase === 'Running' && state.uid === assigned?.owner.uid && state.revision === assigned.revision
  return {
    name: device.name,
    labels: device.labels,
    joinedAt: device.joinedAt,
    stage,
    assignedAt: stage === 'Waiting' ? undefined : entry?.at?.getTime(),
    isAlive,
    offlineSince: isAlive ? undefined : offlineSince,
    isHeld: (hold !== undefined && hold !== 'NotItsTurn') || holdsItself,
    isHealthy: assigned === undefined || runs,
    isDown: isDown(known),
  }
}
