/** What is known of the signatures under a key, from one entry to the next. FLEET-104, FLEET-107. */
import { precedence } from '#apis/fleet.nationtech.io/kv/precedence.ts'
import type { EntrySigner } from './entry-signer.ts'
import type { PlacementState } from './placement-state.ts'

/** Called when its entry or what it is for changed: what was signed last outlives what another puts in its place, and an old one that is put back. */
export const rememberSigned = (state: PlacementState): void => {
  const { entry, lastSigned, isMatched } = state
  if (!isMatched) state.lastSigned = undefined
  if (!isMatched || entry?.desired === undefined || !entry.isSigned || entry.signers.length === 0) return
  const last = lastSigned?.desired?.payload
  if (last === undefined || precedence(entry.desired.payload, last) !== 'Older') state.lastSigned = entry
}

/** The operator has other keys. @returns whether there is an entry, which is to be signed by them */
export const judgeAnew = (state: PlacementState, signer: EntrySigner): boolean => {
  const { entry, lastSigned } = state
  if (lastSigned !== undefined && !signer.isSigned(lastSigned.signers)) state.lastSigned = undefined
  if (entry === undefined) return false
  state.entry = { ...entry, isVerified: signer.isVerified(entry.signers), isSigned: false }
  return true
}
