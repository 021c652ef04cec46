/** What is known of one Deployment on one device, and what follows from it. Pure. */
import type { Envelope } from '../kv/envelope.ts'
import type { Placement } from '../kv/keys.ts'
import type { Desired, State } from '../kv/payload.ts'
import { precedence } from '../kv/precedence.ts'
import type { Revision } from '../rollout/revisions.ts'
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
}

export type Hold =
  | 'Pinned'
  /** The rollout has not come to it. */
  | 'NotItsTurn'
  /** It has, or was given, a revision that this operator does not know: the cluster was restored from a backup. */
  | 'ConflictPaused'

/** The entry gives the device the workload that is rolled out, be it under an older number. */
const isCurrent = ({ uid, target }: DeploymentView, entry: Entry | undefined): boolean => {
  const payload = entry?.desired?.payload
  if (payload?.owner.uid !== uid) return false
  return (
    payload.revision === target.revision || (payload.revision < target.revision && target.isSameWorkload(payload.score))
  )
}

/** What its device said of this Deployment, and not of one of the same name before it. */
const answerOf = ({ deployment, said }: Known): State | undefined =>
  said?.state.uid === deployment?.uid ? said?.state : undefined

const isFromTheFuture = (deployment: DeploymentView, { entry, said }: Known): boolean => {
  const payload = entry?.desired?.payload
  const known = deployment.target.revision
  const given = payload?.owner.uid === deployment.uid ? payload.revision : 0
  const answered = said?.state.uid === deployment.uid ? said.state.revision : 0
  return Math.max(given, answered) > known
}

/** Why a device that matches keeps what it has; undefined when it has or may have what is rolled out. */
export const holdOf = (deployment: DeploymentView, device: DeviceView, known: Known): Hold | undefined => {
  if (isFromTheFuture(deployment, known)) return 'ConflictPaused'
  if (isCurrent(deployment, known.entry)) return undefined
  if (device.isPinned) return 'Pinned'
  return deployment.admits(device) ? undefined : 'NotItsTurn'
}

/** The selector of a Deployment that is not being deleted matches the device. */
export const isMatched = ({ deployment, device }: Known): boolean =>
  deployment !== undefined && device !== undefined && deployment.matches(device.labels)

export type Decision =
  | { readonly do: 'Nothing' }
  | { readonly do: 'Put'; readonly bytes: Uint8Array }
  | { readonly do: 'Delete' }

const NOTHING: Decision = { do: 'Nothing' }

const put = (deployment: DeploymentView, revision: Revision, entry: Entry | undefined): Decision => {
  const bytes = deployment.bytesOf(revision)
  if (entry !== undefined && Buffer.compare(entry.bytes, bytes) === 0) return NOTHING
  const found = entry?.desired?.payload
  if (found === undefined) return { do: 'Put', bytes }
  const wanted = { owner: { uid: deployment.uid, created: deployment.created }, revision: revision.revision }
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
  if (hold === undefined) {
    const isEnough = isCurrent(deployment, entry) && entry?.desired?.payload.revision !== deployment.target.revision
    return isEnough ? NOTHING : put(deployment, deployment.target, entry)
  }
  if (entry?.desired?.payload.owner.uid === deployment.uid) return NOTHING
  const kept = keptRevision(deployment, known)
  return kept === undefined ? NOTHING : put(deployment, kept, entry)
}

export const STANDINGS = ['succeeded', 'failed', 'pending', 'offline', 'unreported', 'held'] as const
/** What a matched device counts as. */
export type Standing = (typeof STANDINGS)[number]

const PHASE = { Running: 'succeeded', Failed: 'failed', Pending: 'pending' } as const

/** The entry that the device has answered; undefined when it answered another one, or none. */
const answered = (known: Known): State | undefined => {
  const state = answerOf(known)
  return state !== undefined && state.revision === known.entry?.desired?.payload.revision ? state : undefined
}

/** What a matched device counts as. Exactly one, so that the counts sum up to all that match. */
export const standingOf = (deployment: DeploymentView, device: DeviceView, known: Known): Standing => {
  const state = answerOf(known)
  if (holdOf(deployment, device, known) !== undefined) return 'held'
  // Seed, scenario 4: a device that was offline and never said anything is pending.
  if (!known.isAlive) return state === undefined ? 'pending' : 'offline'
  if (state === undefined) return 'unreported'
  if (state.hold === true) return 'held'
  const answer = answered(known)
  return answer === undefined ? 'pending' : PHASE[answer.phase]
}

/** Whether it was given what is rolled out, and whether it said that it has it. */
export const progressOf = (deployment: DeploymentView, known: Known): { isTargeted: boolean; isUpdated: boolean } => {
  const isTargeted = isCurrent(deployment, known.entry)
  return { isTargeted, isUpdated: isTargeted && answered(known) !== undefined }
}
