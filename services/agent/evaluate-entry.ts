/** What an entry of fleet-desired means for what a device has. Pure. */

import { type Envelope, equalBytes } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { type Desired, desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { precedence } from '#apis/fleet.nationtech.io/kv/precedence.ts'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { findWorkloadProblem, workloadDigest } from './workload.ts'

/** An entry that a device took: its bytes and what they say. */
export interface AcceptedEntry {
  readonly bytes: Uint8Array
  readonly entry: Envelope<Desired>
}

/** What the device has now. */
export interface PresentEntry extends AcceptedEntry {
  /** It is not known to be the fleet operator's, though that is asked now: it was taken before that, or the device lost the key. */
  readonly isUnverified: boolean
}

/** What a device had last of a Deployment that it removed, without its workload. */
export interface RemovedEntry extends Pick<Desired, 'owner' | 'revision' | 'filled'> {
  readonly generation: number
}

/** Whom a state answers: the Deployment and the revision. */
export interface EntryId {
  readonly uid: string
  readonly revision: number
  readonly generation: number
}

export type EntryVerdict =
  /** The same bytes: whatever runs goes on undisturbed. */
  | { readonly verdict: 'Same' }
  /** The same workload under another number: nothing restarts, but the answer is to the new number. */
  | { readonly verdict: 'Renumber'; readonly accepted: AcceptedEntry }
  | { readonly verdict: 'Run'; readonly accepted: AcceptedEntry }
  /** Older than what the device has, as after a store was restored from a backup: the device keeps what it has. */
  | { readonly verdict: 'Older'; readonly reason: string }
  /** It can't be run; what ran before goes on. `answered` is undefined where the entry does not even say whose it is. */
  | {
      readonly verdict: 'Refuse'
      readonly reason: string
      readonly answered: EntryId | undefined
      /** It is not known to be the fleet operator's. */
      readonly isUnverified: boolean
    }

/**
 * What to do about an entry. AGENT-2, AGENT-3, AGENT-4, AGENT-48, AGENT-51.
 * @param removed what the device had of the Deployment before it was removed, where older entries are not to come back
 * @param signatureProblem why it is not known to be the fleet operator's; undefined when it is, or when that is not asked
 */
export const evaluateEntry = (
  bytes: Uint8Array,
  present: PresentEntry | undefined,
  removed: RemovedEntry | undefined,
  signatureProblem: string | undefined,
): EntryVerdict => {
  if (present !== undefined && equalBytes(bytes, present.bytes)) return { verdict: 'Same' }
  const refuse = (reason: string, answered: EntryId | undefined): EntryVerdict => ({
    verdict: 'Refuse',
    reason: signatureProblem ?? reason,
    answered,
    isUnverified: signatureProblem !== undefined,
  })
  let entry: Envelope<Desired>
  try {
    entry = desiredCodec.decode(bytes)
  } catch (error) {
    if (!(error instanceof MalformedEntry)) throw error
    return refuse(`the entry in fleet-desired can't be read: ${error.message}`, undefined)
  }
  // Only so that its Deployment can show the complaint.
  if (signatureProblem !== undefined) return refuse(signatureProblem, entryIdOf(entry))
  const { payload } = entry
  const found = present?.entry.payload
  // What anyone may have planted is later than nothing.
  const isCounted = present !== undefined && !present.isUnverified
  if (isCounted && found !== undefined && precedence(payload, found) === 'Older')
    return {
      verdict: 'Older',
      reason: `revision ${payload.revision} in fleet-desired is older than revision ${found.revision}, which stays`,
    }
  if (!isCounted && removed !== undefined && precedence(payload, removed) === 'Older')
    return refuse(
      `revision ${payload.revision} in fleet-desired is older than revision ${removed.revision}, which this device had before it was removed`,
      { uid: removed.owner.uid, revision: removed.revision, generation: removed.generation },
    )
  const problem = findWorkloadProblem(payload.score)
  if (problem !== undefined) return refuse(problem, entryIdOf(entry))
  const accepted = { bytes, entry }
  return found !== undefined && isSameScore(found.score, payload.score)
    ? { verdict: 'Renumber', accepted }
    : { verdict: 'Run', accepted }
}

export const entryIdOf = ({ generation, payload }: Envelope<Desired>): EntryId => ({
  uid: payload.owner.uid,
  revision: payload.revision,
  generation,
})

const isSameScore = (a: Score, b: Score): boolean => workloadDigest(a) === workloadDigest(b)
