/**
 * Whether what an operator wants may replace what is in fleet-desired. Several operators write: an old release, one whose watch
 * is behind, one that was frozen. None of them may take back what a better informed one wrote. FLEET-22.
 */
import type { Desired } from './payload.ts'

type Compared = Pick<Desired, 'owner' | 'revision' | 'filled'>

/**
 * - `Same`: nothing is to be written, when the bytes are equal too.
 * - `Newer`: what is wanted follows what is there.
 * - `Older`: the operator that wants this knows less than the one that wrote: it must read again.
 *
 * A Deployment that was made later is newer, whatever its revision: revisions begin anew with it. Of one revision that was filled
 * in for a device twice, the one that was filled in with the later Device is newer.
 */
export const precedence = (desired: Compared, found: Compared): 'Same' | 'Newer' | 'Older' => {
  const order =
    desired.owner.uid === found.owner.uid
      ? desired.revision - found.revision || filledOrder(desired, found)
      : Date.parse(desired.owner.created) - Date.parse(found.owner.created) ||
        compare(desired.owner.uid, found.owner.uid)
  return order === 0 ? 'Same' : order > 0 ? 'Newer' : 'Older'
}

/** 0 where nothing was filled in, or the API server counts its versions in another way than Kubernetes says. */
const filledOrder = (desired: Compared, found: Compared): number => {
  const [a, b] = [desired.filled?.device, found.filled?.device]
  if (a === undefined || b === undefined || !/^\d+$/.test(a) || !/^\d+$/.test(b)) return 0
  return Number(BigInt(a) - BigInt(b))
}

/** Of two that were made in the same second any order serves, if all operators have the same one. */
const compare = (a: string, b: string): number => (a < b ? -1 : 1)
