/** How long a pass waits after a write that lost against another one; the watch is usually quicker. It grows while every pass loses. */
import { type ExponentialBackoff, exponentialDelay } from './outcome.ts'

const CONFLICT_RETRY: ExponentialBackoff = { initial: 1_000, factor: 2, max: 60_000 }

/** Where an object's `memo` has how many passes in a row lost a write. */
const MEMO_KEY = 'conflicts'

type Memo = Map<string, unknown>

/** A pass lost a write. @returns how long the next one waits, in milliseconds */
export const countConflict = (memo: Memo): number => {
  const conflicts = Number(memo.get(MEMO_KEY) ?? 0) + 1
  memo.set(MEMO_KEY, conflicts)
  return exponentialDelay(CONFLICT_RETRY, conflicts)
}

/** A pass lost none: the next one that does waits the shortest time again. */
export const forgetConflicts = (memo: Memo): void => {
  memo.delete(MEMO_KEY)
}
