/** What a wait asks again and again. */
// biome-ignore lint/suspicious/noExplicitAny: as vitest's own
export type Check = (...context: any[]) => any

/** Between two looks of a wait lies an eighth of what was waited so far at least: no wait gets longer by more than that. */
const SHARE = 1 / 8

/** Milliseconds. What holds for a shorter time than this could be missed. */
const LONGEST = 250

/**
 * A check that waits before it looks again, the longer the more was waited since this call. One that answers at once is in memory, costs
 * nothing, and stays as it is.
 * @param now milliseconds
 */
export const patient = (check: Check, now: () => number, delay: (milliseconds: number) => Promise<unknown>): Check => {
  const beganAt = now()
  let lookedAt = Number.NEGATIVE_INFINITY
  let asks = false
  const look: Check = (...context) => {
    const answer = check(...context)
    asks = answer instanceof Promise
    if (!asks) return answer
    return answer.finally(() => {
      lookedAt = now()
    })
  }
  return (...context) => {
    const pause = Math.min((now() - beganAt) * SHARE, LONGEST) - (now() - lookedAt)
    return asks && pause > 0 ? delay(pause).then(() => look(...context)) : look(...context)
  }
}
