/** What a device says of a Deployment. Pure. */
import { type Phase, type State, truncateMessage } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { EntryId } from './evaluate-entry.ts'

/** Of an entry that could never be read the Deployment is unknown: such a state is for people alone. */
export const UNKNOWN_ENTRY: EntryId = { uid: 'unknown', revision: 1, generation: 0 }

export interface PlacementAnswer {
  readonly answered: EntryId
  readonly phase: Phase
  readonly message: string | undefined
  readonly isHeld: boolean
  readonly isUnverified: boolean
}

/** @param at by the device's clock */
export const toState = ({ answered, phase, message, isHeld, isUnverified }: PlacementAnswer, at: Date): State => ({
  phase,
  uid: answered.uid,
  revision: answered.revision,
  at: at.toISOString(),
  ...(message !== undefined && { message: truncateMessage(message) }),
  ...(isHeld && { hold: true }),
  ...(isUnverified && { unverified: true }),
})
