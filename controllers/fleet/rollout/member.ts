/** A device as its rollout sees it. */
import { holdOf, type Known, progressOf, renderProblem, standingOf } from '../state/placement.ts'
import type { DeploymentView, DeviceView } from '../state/views.ts'
import type { Candidate } from './batches.ts'

export interface Member extends Candidate {
  /** What became of the revision that is rolled out: not given yet, given, done, or failed. */
  readonly stage: 'Waiting' | 'Working' | 'Succeeded' | 'Failed'
  /** When it was given, in milliseconds since the epoch; undefined when nobody knows. */
  readonly givenAt: number | undefined
  readonly isAlive: boolean
  /** Milliseconds since the epoch; undefined when it is online, or when nobody knows. */
  readonly offlineSince: number | undefined
  /** Something other than the rollout keeps changes off: it is no part of the count, and catches up later. */
  readonly isHeld: boolean
  /** Nothing was given to it, or what was given runs. */
  readonly isWell: boolean
}

const stageOf = (deployment: DeploymentView, known: Known & { readonly device: DeviceView }): Member['stage'] => {
  const { isTargeted, isUpdated } = progressOf(deployment, known.device, known)
  // What can't be filled in for it will not be given to it.
  if (!isTargeted) return renderProblem(deployment, known.device) === undefined ? 'Waiting' : 'Failed'
  if (!isUpdated) return 'Working'
  const phase = known.said?.state.phase
  return phase === 'Running' ? 'Succeeded' : phase === 'Failed' ? 'Failed' : 'Working'
}

/** @param known One that matches. @param offlineSince Of the device, in milliseconds since the epoch. */
export const memberOf = (
  deployment: DeploymentView,
  known: Known & { readonly device: DeviceView },
  offlineSince?: number,
): Member => {
  const { device, entry, isAlive } = known
  const stage = stageOf(deployment, known)
  const hold = holdOf(deployment, device, known)
  const holdsItself = hold === undefined && standingOf(deployment, device, known) === 'held'
  const given = entry?.desired?.payload
  const said = known.said?.state
  const runs = said?.phase === 'Running' && said.uid === given?.owner.uid && said.revision === given.revision
  return {
    name: device.name,
    labels: device.labels,
    joinedAt: device.joinedAt,
    stage,
    givenAt: stage === 'Waiting' ? undefined : entry?.at?.getTime(),
    isAlive,
    offlineSince: isAlive ? undefined : offlineSince,
    isHeld: (hold !== undefined && hold !== 'NotItsTurn') || holdsItself,
    isWell: given === undefined || runs,
  }
}
