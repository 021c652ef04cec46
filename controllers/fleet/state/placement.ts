/** What is known of one Deployment on one device, and the write that follows. FLEET-34, FLEET-36, FLEET-50. Pure. */
import type { PlacementPhase } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { digestOf, type Envelope, equalBytes } from '#apis/fleet.nationtech.io/kv/envelope.ts'
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
  /** A later release wrote it in a form that this one does not read: it is that one's. FLEET-65. */
  readonly isOfLaterRelease: boolean
  /** Each key of this operator has signed it, or it has none. FLEET-103. */
  readonly isSigned: boolean
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

/** The entry of the device, when it is of this Deployment and not of one of the same name before it. */
const ownDesired = ({ uid }: DeploymentView, { entry }: PlacementFacts): Desired | undefined => {
  const payload = entry?.desired?.payload
  return payload?.owner.uid === uid ? payload : undefined
}

/** The entry gives the device the workload that is rolled out, be it under an older number. */
const isCurrent = (deployment: DeploymentView, device: DeviceView, known: PlacementFacts): boolean => {
  const { target } = deployment
  const payload = ownDesired(deployment, known)
  if (payload === undefined || payload.revision > target.revision) return false
  const wants = deployment.desiredWorkload(target, device)
  return 'digest' in wants && cachedDigest(payload.score) === wants.digest
}

/** What its device said of this Deployment, and not of one of the same name before it. */
const ownReport = ({ deployment, reported }: PlacementFacts): State | undefined =>
  reported?.state.uid === deployment?.uid ? reported?.state : undefined

/** Under this number there was another workload: the entry is of a history that was lost. */
const isFromLostHistory = ({ history }: DeploymentView, { revision, score, filled }: Desired): boolean => {
  const known = history.find((one) => one.revision === revision)
  return known !== undefined && known.digest !== (filled?.digest ?? cachedDigest(score))
}

/** The highest revision that the device has, or was assigned, and that is not known; undefined when it has none. */
export const findUnknownRevision = (deployment: DeploymentView, known: PlacementFacts): number | undefined => {
  const payload = ownDesired(deployment, known)
  const assigned = payload?.revision ?? 0
  const highest = Math.max(assigned, ownReport(known)?.revision ?? 0)
  if (highest <= deployment.overruled) return undefined
  if (highest > deployment.target.revision) return highest
  return payload !== undefined && assigned > deployment.overruled && isFromLostHistory(deployment, payload)
    ? assigned
    : undefined
}

/** What keeps changes off the device, whichever Deployment has its slot. */
const findObstacle = (
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
  if (known.entry?.isOfLaterRelease === true) return 'LaterRelease'
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
  if (known.entry?.isOfLaterRelease === true) return 'Stays'
  const isPaused = findUnknownRevision(deployment, known) !== undefined
  if (ownDesired(deployment, known) !== undefined) return isPaused ? 'Stays' : 'IsThere'
  if (isPaused) return 'None'
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

export type WriteDecision =
  | { readonly do: 'Nothing' }
  | { readonly do: 'Put'; readonly bytes: Uint8Array }
  | { readonly do: 'Delete' }

const NOTHING: WriteDecision = { do: 'Nothing' }

const decidePut = (
  deployment: DeploymentView,
  device: DeviceView,
  revision: Revision,
  entry: DesiredEntry | undefined,
): WriteDecision => {
  const bytes = deployment.encodeDesired(revision, device)
  // What can't be filled in is not assigned: the device keeps what it has.
  if (bytes === undefined) return NOTHING
  if (entry !== undefined && equalBytes(entry.bytes, bytes)) return entry.isSigned ? NOTHING : { do: 'Put', bytes }
  const found = entry?.desired?.payload
  if (found === undefined) return { do: 'Put', bytes }
  const { uid, created } = deployment
  const filled = deployment.renderedFrom(revision, device)
  const next = { owner: { uid, created }, revision: revision.revision, ...(filled !== undefined && { filled }) }
  return precedence(next, found) === 'Older' ? NOTHING : { do: 'Put', bytes }
}

/** The revision that a held device keeps when its key is gone, as after a wiped store: what it has, else what it is to keep. */
const revisionToKeep = (deployment: DeploymentView, known: PlacementFacts): Revision | undefined => {
  const { history, from } = deployment
  const currentReport = ownReport(known)?.revision
  return history.find(({ revision }) => revision === currentReport) ?? history.find(({ revision }) => revision === from)
}

/** What is to become of its key. Equal bytes are never written again; what a better informed operator wrote stays. */
export const decideWrite = (known: PlacementFacts): WriteDecision => {
  const { deployment, device, entry } = known
  if (deployment === undefined || device === undefined || !isMatched(known))
    return entry === undefined ? NOTHING : { do: 'Delete' }
  const hold = findBlockedReason(deployment, device, known)
  if (hold === 'LaterRelease' || hold === 'ConflictPaused') return NOTHING
  if (hold === 'SlotTaken') return ownDesired(deployment, known) === undefined ? NOTHING : { do: 'Delete' }
  if (hold === undefined)
    return needsNoWrite(deployment, device, known) ? NOTHING : decidePut(deployment, device, deployment.target, entry)
  const kept = revisionToKeep(deployment, known)
  if (ownDesired(deployment, known) !== undefined) return decideSigning(deployment, device, known, kept)
  return kept === undefined ? NOTHING : decidePut(deployment, device, kept, entry)
}

/**
 * What a held device keeps is signed as it is, where it is known to be an operator's: a revision of the history has the same bytes.
 * Whatever else is found in the store is never signed: a device that refuses it, and so has nothing to keep, gets the revision that it is to keep
 * instead. FLEET-103.
 */
const decideSigning = (
  deployment: DeploymentView,
  device: DeviceView,
  known: PlacementFacts,
  kept: Revision | undefined,
): WriteDecision => {
  const { entry } = known
  if (entry === undefined || entry.isSigned) return NOTHING
  const isRefused = ownReport(known)?.unverified === true
  const revision = isRefused ? kept : deployment.history.find((one) => one.revision === entry.desired?.payload.revision)
  const bytes = revision && deployment.encodeDesired(revision, device)
  return bytes !== undefined && (isRefused || equalBytes(bytes, entry.bytes)) ? { do: 'Put', bytes } : NOTHING
}

/** The device has the workload, be it under an older number or filled in with an older Device. */
const needsNoWrite = (deployment: DeploymentView, device: DeviceView, known: PlacementFacts): boolean => {
  if (known.entry?.isSigned === false || !isCurrent(deployment, device, known)) return false
  const { revision, filled } = ownDesired(deployment, known) ?? {}
  return revision !== deployment.target.revision || filled !== undefined
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
