/** What an entry of fleet-desired means for what a device has. Pure. */

import { type Envelope, equalBytes } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { type Desired, desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { precedence } from '#apis/fleet.nationtech.io/kv/precedence.ts'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { scoreDigest, scoreProblem } from './workload.ts'

/** An entry that a device took: its bytes and what they say. */
export interface Accepted {
  readonly bytes: Uint8Array
  readonly entry: Envelope<Desired>
}

/** Whom a state answers: the Deployment and the revision. */
export interface Answered {
  readonly uid: string
  readonly revision: number
  readonly generation: number
}

export type Verdict =
  /** The same bytes: whatever runs goes on undisturbed. */
  | { readonly verdict: 'Same' }
  /** The same workload under another number: nothing restarts, but the answer is to the new number. */
  | { readonly verdict: 'Renumber'; readonly accepted: Accepted }
  | { readonly verdict: 'Run'; readonly accepted: Accepted }
  /** Older than what the device has, as after a store was restored from a backup: the device keeps what it has. */
  | { readonly verdict: 'Older'; readonly reason: string }
  /** It can't be run; what ran before goes on. `answered` is undefined where the entry does not even say whose it is. */
  | { readonly verdict: 'Refuse'; readonly reason: string; readonly answered: Answered | undefined }

/** What to do about an entry. Anchors fleet-gitops A2.5, A4.12. */
export const judge = (bytes: Uint8Array, present: Accepted | undefined): Verdict => {
  if (present !== undefined && equalBytes(bytes, present.bytes)) return { verdict: 'Same' }
  let entry: Envelope<Desired>
  try {
    entry = desiredCodec.decode(bytes)
  } catch (error) {
    if (!(error instanceof MalformedEntry)) throw error
    return {
      verdict: 'Refuse',
      reason: `the entry in fleet-desired can't be read: ${error.message}`,
      answered: undefined,
    }
  }
  const { payload } = entry
  const found = present?.entry.payload
  if (found !== undefined && precedence(payload, found) === 'Older')
    return {
      verdict: 'Older',
      reason: `revision ${payload.revision} in fleet-desired is older than revision ${found.revision}, which stays`,
    }
  const problem = scoreProblem(payload.score)
  if (problem !== undefined) return { verdict: 'Refuse', reason: problem, answered: answerTo(entry) }
  const accepted = { bytes, entry }
  return found !== undefined && isSameScore(found.score, payload.score)
    ? { verdict: 'Renumber', accepted }
    : { verdict: 'Run', accepted }
}

export const answerTo = ({ generation, payload }: Envelope<Desired>): Answered => ({
  uid: payload.owner.uid,
  revision: payload.revision,
  generation,
})

const isSameScore = (a: Score, b: Score): boolean => scoreDigest(a) === scoreDigest(b)
