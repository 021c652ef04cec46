/** What is to become of a key of fleet-desired. FLEET-22, FLEET-34, FLEET-36, FLEET-103. Pure. */
import { equalBytes } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import type { Desired } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { precedence } from '#apis/fleet.nationtech.io/kv/precedence.ts'
import type { Revision } from '../rollout/revisions.ts'
import {
  type BlockedReason,
  type DesiredEntry,
  findBlockedReason,
  findObstacle,
  isCurrent,
  isMatched,
  isPutBack,
  ownDesired,
  ownLastSigned,
  ownReport,
  type PlacementFacts,
  revisionToKeep,
} from './placement.ts'
import type { DeploymentView, DeviceView } from './views.ts'

export type WriteDecision =
  | { readonly do: 'Nothing' }
  | {
      readonly do: 'Put'
      readonly bytes: Uint8Array
      /** What is there says that it is later, and no key of this operator has signed it. FLEET-106. */
      readonly isDisputed?: true
    }
  | { readonly do: 'Delete' }

const NOTHING: WriteDecision = { do: 'Nothing' }

/** Equal bytes are never written again, unless they are to be signed; what a better informed operator wrote stays. */
const decideOver = (
  entry: DesiredEntry | undefined,
  bytes: Uint8Array,
  next: Pick<Desired, 'owner' | 'revision' | 'filled'>,
): WriteDecision => {
  if (entry === undefined) return { do: 'Put', bytes }
  if (equalBytes(entry.bytes, bytes)) return entry.isSigned ? NOTHING : { do: 'Put', bytes }
  const found = entry.desired?.payload
  const saysLater = found === undefined ? entry.isOfLaterRelease : precedence(next, found) === 'Older'
  if (!saysLater) return { do: 'Put', bytes }
  return entry.isVerified ? NOTHING : { do: 'Put', bytes, isDisputed: true }
}

const decidePut = (
  deployment: DeploymentView,
  device: DeviceView,
  revision: Revision,
  entry: DesiredEntry | undefined,
): WriteDecision => {
  const bytes = deployment.encodeDesired(revision, device)
  // What can't be filled in is not assigned: the device keeps what it has.
  if (bytes === undefined) return NOTHING
  const { uid, created } = deployment
  const filled = deployment.renderedFrom(revision, device)
  const next = { owner: { uid, created }, revision: revision.revision, ...(filled !== undefined && { filled }) }
  return decideOver(entry, bytes, next)
}

/** What is to become of a placement's key. */
export const decideWrite = (known: PlacementFacts): WriteDecision => {
  const { deployment, device, entry } = known
  if (deployment === undefined || device === undefined || !isMatched(known))
    return entry === undefined ? NOTHING : { do: 'Delete' }
  const hold = findBlockedReason(deployment, device, known)
  if (hold === 'LaterRelease' || hold === 'ConflictPaused') return NOTHING
  if (hold === 'SlotTaken') return ownDesired(deployment, known) === undefined ? NOTHING : { do: 'Delete' }
  // What is rolled out is no more a device's before its turn for standing under its key without a signature.
  const held = hold ?? (entry?.isVerified === false ? findObstacle(deployment, device, known) : undefined)
  if (held !== undefined) return decideKept(deployment, device, known, held)
  return needsNoWrite(deployment, device, known) ? NOTHING : decidePut(deployment, device, deployment.target, entry)
}

/**
 * What a held device keeps. Under its key is what it was seen to have with the operator's signature, else what it is to keep: of what is
 * found without one nothing is signed but the same bytes. It may be of an operator that signed nothing, so it stays, unless the device
 * does not take it. FLEET-103, FLEET-106, FLEET-107.
 */
const decideKept = (
  deployment: DeploymentView,
  device: DeviceView,
  known: PlacementFacts,
  held: BlockedReason,
): WriteDecision => {
  const { entry, lastSigned } = known
  const own = ownDesired(deployment, known)
  if (entry?.isVerified === true && own !== undefined && !isPutBack(deployment, known))
    return decideSigning(deployment, device, entry, own)
  const last = ownLastSigned(deployment, known)
  if (lastSigned !== undefined && last !== undefined) return decideOver(entry, lastSigned.bytes, last)
  const kept = held === 'SelectionUnknown' ? undefined : revisionToKeep(deployment, known)
  if (kept === undefined) return NOTHING
  const decision = decidePut(deployment, device, kept, entry)
  const mayReplace = own === undefined || ownReport(known)?.unverified === true
  const isSame = decision.do === 'Put' && entry !== undefined && equalBytes(decision.bytes, entry.bytes)
  return mayReplace || isSame ? decision : NOTHING
}

/** While keys are exchanged, an entry that not each of them has signed is signed as it is: where a revision of the history has the same bytes. */
const decideSigning = (
  deployment: DeploymentView,
  device: DeviceView,
  entry: DesiredEntry,
  own: Desired,
): WriteDecision => {
  if (entry.isSigned) return NOTHING
  const revision = deployment.history.find((one) => one.revision === own.revision)
  const bytes = revision && deployment.encodeDesired(revision, device)
  return bytes !== undefined && equalBytes(bytes, entry.bytes) ? { do: 'Put', bytes } : NOTHING
}

/** The device has the workload, be it under an older number or filled in with an older Device. */
const needsNoWrite = (deployment: DeploymentView, device: DeviceView, known: PlacementFacts): boolean => {
  if (known.entry?.isSigned === false || !isCurrent(deployment, device, known)) return false
  if (isPutBack(deployment, known)) return false
  const { revision, filled } = ownDesired(deployment, known) ?? {}
  return revision !== deployment.target.revision || filled !== undefined
}
