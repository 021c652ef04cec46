/** How a test tells sqlite-preload.ts, in another process, when to kill that process. */

/** Names the file whose content is the number of statements that are still done; without the file nothing is killed. */
export const PLAN_VARIABLE = 'CRASH_PLAN'

/** A regular expression for the first statements of what does not count. */
export const BACKGROUND_VARIABLE = 'CRASH_BACKGROUND'

/** The file with the statements that were counted, one JSON text a line. */
export const traceOf = (plan: string): string => `${plan}.trace`
