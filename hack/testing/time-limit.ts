import type { Progress } from './progress.ts'
import type { Tally } from './tally.ts'

/** Milliseconds that tests which are wasEnded to end have to stop their servers in; after them nothing is waited for. */
const TO_STOP = 180_000

/** The time that a run of tests has. */
export interface TimeLimit {
  isOver(): boolean
  /**
   * Waits for work that is wasEnded to end when the time is over, and no longer than it needs to stop.
   * @returns false where it had not ended by then
   */
  within(work: Promise<unknown>, end: () => void): Promise<boolean>
}

/** @param endsAt milliseconds of `performance.now()` @param toStop milliseconds */
export const timeLimit = (endsAt = Number.POSITIVE_INFINITY, toStop = TO_STOP): TimeLimit => {
  let wasEnded = false
  return {
    isOver: () => wasEnded || performance.now() >= endsAt,
    within: async (work, end) => {
      const ended = work.then(() => true)
      if (endsAt === Number.POSITIVE_INFINITY) return ended
      const { promise: stillThere, resolve } = Promise.withResolvers<boolean>()
      const left = endsAt - performance.now()
      const timeIsUp = setTimeout(() => {
        wasEnded = true
        end()
      }, left)
      const leaving = setTimeout(() => resolve(false), left + toStop)
      try {
        return await Promise.race([ended, stillThere])
      } finally {
        clearTimeout(timeIsUp)
        clearTimeout(leaving)
      }
    },
  }
}

/** A run that its time was too short for has failed: what had not ended by then, and the tests that had. */
export const outOfTime = (at: Progress | undefined): Tally => {
  if (at === undefined) return { passed: 0, failed: ["the run's time was over before its tests began"], skipped: [] }
  const { files, running, tests } = at
  const left = files.all - files.done - running.length
  return {
    passed: tests.passed,
    failed: [
      ...running.map(
        ({ file, seconds }) => `${file} had not ended after ${Math.round(seconds)} s, and the run's time was over`,
      ),
      ...(left > 0 ? [`the run's time was over before ${left} more files began`] : []),
    ],
    skipped: [],
  }
}
