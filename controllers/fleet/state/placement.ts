/** What is known of one Deployment on one device, and what follows from it. Pure. */

import type { PlacementPhase } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { digestOf, type Envelope } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import type { Placement } from '#apis/fleet.nationtech.io/kv/keys.ts'
import type { Desired, State } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { precedence } from '#apis/fleet.nationtech.io/kv/precedence.ts'
import type { Taint } from '#apis/fleet.nationtech.io/v1alpha1/taint.ts'
import type { Revision } from '../rollout/revisions.ts'
import { taintVerdict } from '../selection/taints.ts'
import type { DeploymentView, DeviceView } from './views.ts'

/** A key of fleet-desired as it was last seen. */
export interface Entry {
  readonly bytes: Uint8Array
  /** Undefined when the bytes are malformed: then nothing is known of them. */
  readonly desired: Envelope<Desired> | undefined
  /** Of the bucket. */
  readonly revision: number
  /** It was there when the operator started. */
  readonly isSeeded: boolean
  /** When it was written; undefined when the store did not say. */
  readonly at: Date | undefined
}

/** What a device said. */
export interface Said {
  readonly state: State
  /** Of the bucket: later ones are newer, whatever the clock of the device says. */
  readonly revision: number
}

export interface Known {
  readonly placement: Placement
  readonly deployment: DeploymentView | undefined
  readonly device: DeviceView | undefined
  readonly entry: Entry | undefined
  readonly said: Said | undefined
  /** The device has a heartbeat. */
  readonly isAlive: boolean
  /** The Deployment that has the slot on the device, which this one claims too; undefined when nobody is before it. */
  readonly rival: DeploymentView | undefined
}

export type Hold =
  /** It has, or was given, a revision that this operator does not know: the cluster was restored from a backup. */
  | 'ConflictPaused'
  /** Another Deployment has the slot: what the device had of this one goes. */
  | 'SlotTaken'
  /** The expression fails on it: nobody knows whether it is meant. */
  | 'SelectionUnknown'
  | 'Pinned'
  /** A person keeps changes off. */
  | 'OnHold'
  /** A taint is not borne. */
  | 'Tainted'
  /** None of its windows is open. */
  | 'WindowClosed'
  /** The rollout has not come to it. */
  | 'NotItsTurn'

const digests = new WeakMap<object, string>()
/** Scores are shared or kept, so each is hashed once. */
const digestOnce = (score: object): string => {
  const digest = digests.get(score) ?? digestOf(score)
  digests.set(score, digest)
  return digest
}

/** The entry of the device, when it is of this Deployment and not of one of the same name before it. */
const ownEntry = ({ uid }: DeploymentView, { entry }: Known): Desired | undefined => {
  const payload = entry?.desired?.payload
  return payload?.owner.uid === uid ? payload : undefined
}

/** The entry gives the device the workload that is rolled out, be it under an older number. */
const isCurrent = (deployment: DeploymentView, device: DeviceView, known: Known): boolean => {
  const { target } = deployment
  const payload = ownEntry(deployment, known)
  if (payload === undefined || payload.revision > target.revision) return false
  const wants = deployment.wants(target, device)
  return 'digest' in wants && digestOnce(payload.score) === wants.digest
}

/** What its device said of this Deployment, and not of one of the same name before it. */
const answerOf = ({ deployment, said }: Known): State | undefined =>
  said?.state.uid === deployment?.uid ? said?.state : undefined

/** Under this number there was another workload: the entry is of a history that was lost. */
const isOfAnotherHistory = ({ history }: DeploymentView, { revision, score, filled }: Desired): boolean => {
  const known = history.find((one) => one.revision === revision)
  return known !== undefined && known.digest !== (filled?.digest ?? digestOnce(score))
}

/** The highest revision that the device has, or was given, and that is not known; undefined when it has none. */
export const unknownRevision = (deployment: DeploymentView, known: Known): number | undefined => {
  const payload = ownEntry(deployment, known)
  const given = payload?.revision ?? 0
  const highest = Math.max(given, answerOf(known)?.revision ?? 0)
  if (highest <= deployment.overruled) return undefined
  if (highest > deployment.target.revision) return highest
  return payload !== undefined && given > deployment.overruled && isOfAnotherHistory(deployment, payload)
    ? given
    : undefined
}

/** What keeps changes off the device, whoever has its slot. */
const obstacle = (deployment: DeploymentView, device: DeviceView): Hold | undefined => {
  if (deployment.selects(device).is === 'Unknown') return 'SelectionUnknown'
  if (device.isPinned) return 'Pinned'
  if (device.hold !== undefined) return 'OnHold'
  if (unbornTaint(deployment, device) !== undefined) return 'Tainted'
  if (device.opens !== undefined) return 'WindowClosed'
  return deployment.admits(device) ? undefined : 'NotItsTurn'
}

/** The taint that keeps the Deployment from changing the device; undefined when all are borne. */
export const unbornTaint = ({ tolerations }: DeploymentView, { taints, at }: DeviceView): Taint | undefined => {
  if (taints.length === 0) return undefined
  const verdict = taintVerdict(taints, tolerations, at)
  return verdict.is === 'Free' ? undefined : verdict.taint
}

/** Why a device that matches keeps what it has; undefined when it has or may have what is rolled out. */
export const holdOf = (deployment: DeploymentView, device: DeviceView, known: Known): Hold | undefined => {
  if (unknownRevision(deployment, known) !== undefined) return 'ConflictPaused'
  if (known.rival !== undefined) return 'SlotTaken'
  return isCurrent(deployment, device, known) ? undefined : obstacle(deployment, device)
}

export type Claim =
  /** It is not there, and may not come now: who only will come one day takes no slot from who is there. */
  | 'None'
  /** It may come now, if only in the revision that a held device is to keep. */
  | 'Comes'
  | 'IsThere'
  /** It is there, and nobody takes it away before a person has overruled what it has. */
  | 'Stays'

/** How it claims its slot on the device. */
export const claimOf = (deployment: DeploymentView, device: DeviceView, known: Known): Claim => {
  const isPaused = unknownRevision(deployment, known) !== undefined
  if (ownEntry(deployment, known) !== undefined) return isPaused ? 'Stays' : 'IsThere'
  if (isPaused) return 'None'
  const coming = obstacle(deployment, device) === undefined ? deployment.target : keptRevision(deployment, known)
  return coming !== undefined && 'digest' in deployment.wants(coming, device) ? 'Comes' : 'None'
}

/** Of two that claim one slot, the one before the other: by priority, then by age, then by name. */
export const slotOrder = (a: DeploymentView, b: DeploymentView): number =>
  b.priority - a.priority || Date.parse(a.created) - Date.parse(b.created) || (a.key < b.key ? -1 : 1)

/**
 * A Deployment that is not being deleted is for the device. Where its expression fails, what the device has of it stays.
 */
export const isMatched = (known: Known): boolean => {
  const { deployment, device } = known
  if (deployment === undefined || device === undefined) return false
  const { is } = deployment.selects(device)
  return is === 'Selected' || (is === 'Unknown' && ownEntry(deployment, known) !== undefined)
}

/** Why what is rolled out can't be filled in for the device; undefined when it can, or when the device needs nothing. */
export const renderProblem = (deployment: DeploymentView, device: DeviceView): string | undefined => {
  const wants = deployment.wants(deployment.target, device)
  return 'problem' in wants ? wants.problem : undefined
}

export type Decision =
  | { readonly do: 'Nothing' }
  | { readonly do: 'Put'; readonly bytes: Uint8Array }
  | { readonly do: 'Delete' }

const NOTHING: Decision = { do: 'Nothing' }

const put = (
  deployment: DeploymentView,
  device: DeviceView,
  revision: Revision,
  entry: Entry | undefined,
): Decision => {
  const bytes = deployment.bytesOf(revision, device)
  // What can't be filled in is not given: the device keeps what it has.
  if (bytes === undefined || (entry !== undefined && Buffer.compare(entry.bytes, bytes) === 0)) return NOTHING
  const found = entry?.desired?.payload
  if (found === undefined) return { do: 'Put', bytes }
  const { uid, created } = deployment
  const filled = deployment.filled(revision, device)
  const wanted = { owner: { uid, created }, revision: revision.revision, ...(filled !== undefined && { filled }) }
  return precedence(wanted, found) === 'Older' ? NOTHING : { do: 'Put', bytes }
}

/** The revision that a held device keeps when its key is gone, as after a wiped store: what it has, else what it is to keep. */
const keptRevision = (deployment: DeploymentView, known: Known): Revision | undefined => {
  const { history, from } = deployment
  const answered = answerOf(known)?.revision
  return history.find(({ revision }) => revision === answered) ?? history.find(({ revision }) => revision === from)
}

/** What is to become of its key. Equal bytes are never written again; what a better informed operator wrote stays. */
export const decide = (known: Known): Decision => {
  const { deployment, device, entry } = known
  if (deployment === undefined || device === undefined || !isMatched(known))
    return entry === undefined ? NOTHING : { do: 'Delete' }
  const hold = holdOf(deployment, device, known)
  if (hold === 'ConflictPaused') return NOTHING
  if (hold === 'SlotTaken') return ownEntry(deployment, known) === undefined ? NOTHING : { do: 'Delete' }
  if (hold === undefined)
    return isEnough(deployment, device, known) ? NOTHING : put(deployment, device, deployment.target, entry)
  if (ownEntry(deployment, known) !== undefined) return NOTHING
  const kept = keptRevision(deployment, known)
  return kept === undefined ? NOTHING : put(deployment, device, kept, entry)
}

/** The device has the workload, be it under an older number or filled in with an older Device. */
const isEnough = (deployment: DeploymentView, device: DeviceView, known: Known): boolean => {
  if (!isCurrent(deployment, device, known)) return false
  const { revision, filled } = ownEntry(deployment, known) ?? {}
  return revision !== deployment.target.revision || filled !== undefined
}

const PHASE = { Running: 'succeeded', Failed: 'failed', Pending: 'pending' } as const

/** The entry that the device has answered; undefined when it answered another one, or none. */
const answered = (known: Known): State | undefined => {
  const state = answerOf(known)
  return state !== undefined && state.revision === known.entry?.desired?.payload.revision ? state : undefined
}

/** What a matched device counts as. Exactly one, so that the counts sum up to all that match. */
export const standingOf = (deployment: DeploymentView, device: DeviceView, known: Known): PlacementPhase => {
  const state = answerOf(known)
  if (holdOf(deployment, device, known) !== undefined) return 'held'
  if (renderProblem(deployment, device) !== undefined && !isCurrent(deployment, device, known)) return 'failed'
  // Seed, scenario 4: a device that was offline and never said anything is pending.
  if (!known.isAlive) return state === undefined ? 'pending' : 'offline'
  if (state === undefined) return 'unreported'
  if (state.hold === true) return 'held'
  const answer = answered(known)
  return answer === undefined ? 'pending' : PHASE[answer.phase]
}

/** Whether it was given what is rolled out, and whether it said that it has it. */
export const progressOf = (
  deployment: DeploymentView,
  device: DeviceView,
  known: Known,
): { isTargeted: boolean; isUpdated: boolean } => {
  const isTargeted = isCurrent(deployment, device, known)
  return { isTargeted, isUpdated: isTargeted && answered(known) !== undefined }
}
