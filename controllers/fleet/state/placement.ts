/** What is known of one Deployment on one device. FLEET-34, FLEET-36, FLEET-50. Pure. */
import type { PlacementPhase } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { digestOf, type Envelope } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import type { Placement } from '#apis/fleet.nationtech.io/kv/keys.ts'
import type { Desired, State } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { precedence } from '#apis/fleet.nationtech.io/kv/precedence.ts'
import type { Taint } from '#apis/fleet.nationtech.io/v1alpha1/taint.ts'
import type { Revision } from '../rollout/revisions.ts'
import { judgeTaints } from '../selection/taints.ts'
import type { DeploymentView, DeviceView } from './views.ts'

/** A key of fleet-desired as it was last seen. */
export interface DesiredEntry {
  readonly bytes: Uint8Array
  /** Undefined when the bytes are malformed: then nothing is known of them. */
  readonly desired: Envelope<Desired> | undefined
  /** It says that a later release wrote it, in a form that this one does not read: see `isLeftToLaterRelease`. */
  readonly isOfLaterRelease: boolean
  /** The ids of the keys of this operator that have signed it. */
  readonly signers: readonly string[]
  /** Each key of this operator has signed it, or it has none. FLEET-103. */
  readonly isSigned: boolean
  /** One of them has, or it has none: else it counts for nothing, whatever it says. FLEET-106. */
  readonly isVerified: boolean
  /** Of the bucket. */
  readonly revision: number
  /** It was there when the operator started. */
  readonly isSeeded: boolean
  /** When it was written; undefined when the store did not say. */
  readonly at: Date | undefined
}

/** What a device said. */
export interface ReportedState {
  readonly state: State
  /** Of the bucket: later ones are newer, whatever the clock of the device says. */
  readonly revision: number
}

export interface PlacementFacts {
  readonly placement: Placement
  readonly deployment: DeploymentView | undefined
  readonly device: DeviceView | undefined
  readonly entry: DesiredEntry | undefined
  /** What the key had last that each key of this operator has signed, be it gone; undefined when nothing was seen, or nothing is signed. */
  readonly lastSigned: DesiredEntry | undefined
  /** This operator signs what it writes. */
  readonly isSigning: boolean
  readonly reported: ReportedState | undefined
  /** The device has a heartbeat. */
  readonly isAlive: boolean
  /** The Deployment that has the slot on the device, which this one names too; undefined when no other is before it. */
  readonly slotOwner: DeploymentView | undefined
}

export type BlockedReason =
  /** A later release wrote what it has. */
  | 'LaterRelease'
  /** It has, or was assigned, a revision that this operator does not know: the cluster was restored from a backup. */
  | 'ConflictPaused'
  /** Another Deployment has the slot: what the device had of this one goes. */
  | 'SlotTaken'
  /** The expression fails on it: it is unknown whether it is meant. */
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
const cachedDigest = (score: object): string => {
  const digest = digests.get(score) ?? digestOf(score)
  digests.set(score, digest)
  return digest
}

/** A later release wrote it: it is that one's. Without a signature that is only said. FLEET-65, FLEET-106. */
export const isLeftToLaterRelease = (entry: DesiredEntry | undefined): boolean =>
  entry?.isOfLaterRelease === true && entry.isVerified

/** The entry of the device, when it is of this Deployment and not of one of the same name before it. */
export const ownDesired = ({ uid }: DeploymentView, { entry }: PlacementFacts): Desired | undefined => {
  const payload = entry?.desired?.payload
  return payload?.owner.uid === uid ? payload : undefined
}

/** The entry gives the device the workload that is rolled out, be it under an older number. */
export const isCurrent = (deployment: DeploymentView, device: DeviceView, known: PlacementFacts): boolean => {
  const { target } = deployment
  const payload = ownDesired(deployment, known)
  if (payload === undefined || payload.revision > target.revision) return false
  const wants = deployment.desiredWorkload(target, device)
  return 'digest' in wants && cachedDigest(payload.score) === wants.digest
}

/** What its device said of this Deployment, and not of one of the same name before it. */
export const ownReport = ({ deployment, reported }: PlacementFacts): State | undefined =>
  reported?.state.uid === deployment?.uid ? reported?.state : undefined

/** Under this number there was another workload: the entry is of a history that was lost. */
const isFromLostHistory = ({ history }: DeploymentView, { revision, score, filled }: Desired): boolean => {
  const known = history.find((one) => one.revision === revision)
  return known !== undefined && known.digest !== (filled?.digest ?? cachedDigest(score))
}

/** The highest revision that the device has, or was assigned, and that is not known; undefined when it has none. */
export const findUnknownRevision = (deployment: DeploymentView, known: PlacementFacts): number | undefined => {
  // What no key of the operator has signed counts for nothing, and a device that does not take it says its number only to name it.
  const payload = known.entry?.isVerified === false ? undefined : ownDesired(deployment, known)
  const report = ownReport(known)
  const assigned = payload?.revision ?? 0
  const highest = Math.max(assigned, report?.unverified === true ? 0 : (report?.revision ?? 0))
  if (highest <= deployment.overruled) return undefined
  if (highest > deployment.target.revision) return highest
  return payload !== undefined && assigned > deployment.overruled && isFromLostHistory(deployment, payload)
    ? assigned
    : undefined
}

/** What keeps changes off the device, whichever Deployment has its slot. */
export const findObstacle = (
  deployment: DeploymentView,
  device: DeviceView,
  known: PlacementFacts,
): BlockedReason | undefined => {
  if (deployment.selects(device).is === 'Unknown') return 'SelectionUnknown'
  if (device.isPinned) return 'Pinned'
  if (device.holdReason !== undefined) return 'OnHold'
  if (findUntoleratedTaint(deployment, device) !== undefined) return 'Tainted'
  if (device.opens !== undefined) return 'WindowClosed'
  return deployment.admits(device, isDown(known)) ? undefined : 'NotItsTurn'
}

/** The taint that keeps the Deployment from changing the device; undefined when all are borne. */
export const findUntoleratedTaint = (
  { tolerations }: DeploymentView,
  { taints, at }: DeviceView,
): Taint | undefined => {
  if (taints.length === 0) return undefined
  const verdict = judgeTaints(taints, tolerations, at)
  return verdict.is === 'Free' ? undefined : verdict.taint
}

/** Why a device that matches keeps what it has; undefined when it has or may have what is rolled out. */
export const findBlockedReason = (
  deployment: DeploymentView,
  device: DeviceView,
  known: PlacementFacts,
): BlockedReason | undefined => {
  if (isLeftToLaterRelease(known.entry)) return 'LaterRelease'
  if (findUnknownRevision(deployment, known) !== undefined) return 'ConflictPaused'
  if (known.slotOwner !== undefined) return 'SlotTaken'
  return isCurrent(deployment, device, known) ? undefined : findObstacle(deployment, device, known)
}

export type SlotDemand =
  /** It is not there, and may not come now: a Deployment that only will come one day takes no slot from one that is there. */
  | 'None'
  /** It may come now, if only in the revision that a held device is to keep. */
  | 'Comes'
  | 'IsThere'
  /** It is there, and stays until a person has overruled what it has. */
  | 'Stays'

/** How it claims its slot on the device. */
export const slotDemand = (deployment: DeploymentView, device: DeviceView, known: PlacementFacts): SlotDemand => {
  const { entry } = known
  if (isLeftToLaterRelease(entry)) return 'Stays'
  const isPaused = findUnknownRevision(deployment, known) !== undefined
  // What was found at the start may be of an operator that signed nothing, unless the device refuses it.
  const mayBeThere = entry?.isVerified === true || (entry?.isSeeded === true && ownReport(known)?.unverified !== true)
  if (mayBeThere && ownDesired(deployment, known) !== undefined) return isPaused ? 'Stays' : 'IsThere'
  if (isPaused) return 'None'
  if (ownLastSigned(deployment, known) !== undefined) return 'Comes'
  const coming =
    findObstacle(deployment, device, known) === undefined ? deployment.target : revisionToKeep(deployment, known)
  return coming !== undefined && 'digest' in deployment.desiredWorkload(coming, device) ? 'Comes' : 'None'
}

/**
 * A Deployment that is not being deleted is for the device. Where its expression fails, what the device has of it stays.
 */
export const isMatched = (known: PlacementFacts): boolean => {
  const { deployment, device } = known
  if (deployment === undefined || device === undefined) return false
  const { is } = deployment.selects(device)
  return is === 'Selected' || (is === 'Unknown' && ownDesired(deployment, known) !== undefined)
}

/** Why what is rolled out can't be filled in for the device; undefined when it can, or when the device needs nothing. */
export const findRenderProblem = (deployment: DeploymentView, device: DeviceView): string | undefined => {
  const wants = deployment.desiredWorkload(deployment.target, device)
  return 'problem' in wants ? wants.problem : undefined
}

/** What the key had last that the operator has signed, when it is of this Deployment. */
export const ownLastSigned = ({ uid }: DeploymentView, { lastSigned }: PlacementFacts): Desired | undefined => {
  const payload = lastSigned?.desired?.payload
  return payload?.owner.uid === uid ? payload : undefined
}

/** Under the key is an older entry than the operator has signed for it since: another put it back. FLEET-107. */
export const isPutBack = (deployment: DeploymentView, known: PlacementFacts): boolean => {
  const [found, last] = [ownDesired(deployment, known), ownLastSigned(deployment, known)]
  return found !== undefined && last !== undefined && precedence(found, last) === 'Older'
}

/**
 * The revision that a held device keeps when its key is gone, as after a wiped store: what it has, else what it is to keep. What a device
 * says chooses nothing that is signed: where it says that it has another than it is to keep, it keeps that without an entry. FLEET-107.
 */
export const revisionToKeep = (deployment: DeploymentView, known: PlacementFacts): Revision | undefined => {
  const { history, from } = deployment
  const report = ownReport(known)
  const running = report?.unverified === true ? undefined : report?.revision
  const toKeep = history.find(({ revision }) => revision === from)
  if (known.isSigning) return running === undefined || running === from ? toKeep : undefined
  return history.find(({ revision }) => revision === report?.revision) ?? toKeep
}

const PHASE = { Running: 'succeeded', Failed: 'failed', Pending: 'pending' } as const

/** The entry that the device has answered; undefined when it answered another one, or none. */
const answered = (known: PlacementFacts): State | undefined => {
  const state = ownReport(known)
  return state !== undefined && state.revision === known.entry?.desired?.payload.revision ? state : undefined
}

/** The device says that what it was given does not run: a change can't interrupt it. Not so while it says nothing of it. */
export const isDown = (known: PlacementFacts): boolean => {
  const state = answered(known)
  return state !== undefined && state.phase !== 'Running'
}

/** What a matched device counts as. Exactly one, so that the counts sum up to all that match. */
export const placementPhase = (
  deployment: DeploymentView,
  device: DeviceView,
  known: PlacementFacts,
): PlacementPhase => {
  const state = ownReport(known)
  const blocked = findBlockedReason(deployment, device, known)
  // Its turn helps nothing, and a rollout that is suspended because of it gives no device its turn. FLEET-35.
  const isDue = blocked === undefined || blocked === 'NotItsTurn'
  if (isDue && findRenderProblem(deployment, device) !== undefined && !isCurrent(deployment, device, known))
    return 'failed'
  if (blocked !== undefined) return 'held'
  // FLEET-8.
  if (!known.isAlive) return state === undefined ? 'pending' : 'offline'
  if (state === undefined) return 'unreported'
  if (state.hold === true) return 'held'
  const answer = answered(known)
  return answer === undefined ? 'pending' : PHASE[answer.phase]
}

/** Whether it was assigned what is rolled out, and whether it said that it has it. */
export const rolloutProgress = (
  deployment: DeploymentView,
  device: DeviceView,
  known: PlacementFacts,
): { isTargeted: boolean; isUpdated: boolean } => {
  const isTargeted = isCurrent(deployment, device, known)
  return { isTargeted, isUpdated: isTargeted && answered(known) !== undefined }
}
