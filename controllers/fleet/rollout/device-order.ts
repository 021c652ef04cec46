/**
 * The order in which a rollout comes to devices: by a hash, so that neither names nor places decide which goes first, and the same
 * for every replica and after every restart. Another revision has another order. FLEET-38. Pure.
 */
import { createHash } from 'node:crypto'

/** The place of a device: texts of 16 hexadecimal digits, in their order. @param rollout Uid of the Deployment and the revision. */
export const orderKey = (rollout: { readonly uid: string; readonly revision: number }, device: string): string =>
  createHash('sha256').update(`${rollout.uid}\n${rollout.revision}\n${device}`).digest('hex').slice(0, 16)
