import { AbortScope } from '#lib/abort/abort-scope.ts'
import type { Run } from './run.ts'
import type { Screen } from './screen.ts'

/** Until when a goal must be reached, in milliseconds. */
const GOAL_TIMEOUT = 180_000

/** Takes what has changed, how everything is now, and what of that is not yet as wanted: all, when none is given. */
export type OnSighting = (changes: readonly string[], picture: readonly string[], missing?: readonly string[]) => void

/** Shows something on its way to a goal. @throws Error with how it was last, when that takes too long; the run's reason when it ends */
export const untilGoal = async <T>(
  run: Run,
  screen: Screen,
  follow: (signal: AbortSignal, onSighting: OnSighting) => Promise<T>,
): Promise<T> => {
  using limit = new AbortScope(run.signal).within(GOAL_TIMEOUT)
  let latest: readonly string[] = ['nothing has changed']
  try {
    return await follow(limit.signal, (changes, picture, missing = picture) => {
      latest = missing
      screen.showProgress(changes, picture)
    })
  } catch (error) {
    if (run.signal.aborted || !limit.signal.aborted) throw error
    throw new Error(`after ${GOAL_TIMEOUT / 60_000} minutes ${latest.join('; ')}`, { cause: error })
  }
}
