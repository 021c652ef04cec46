import type { Logger } from '#lib/log/logger.ts'

/** What the log says of one; tests fail on it (test/harness/muster.ts). */
export const UNHANDLED_REJECTION = 'a promise was rejected and nothing handled it: this is a defect, please report it'

let count = 0

/** How many this process had since `logUnhandledRejections`. */
export const unhandledRejections = (): number => count

/**
 * Logs and counts rejected promises that nothing handles, where Node.js would end the process: one lost promise is a
 * defect, and no reason to end all streams and work under way (RUNTIME-70). Once a process.
 */
export const logUnhandledRejections = (log: Logger): void => {
  process.on('unhandledRejection', (reason) => {
    count += 1
    log.error(UNHANDLED_REJECTION, { error: describe(reason) })
  })
}

/** Where it was thrown, and where what caused it. */
const describe = (reason: unknown): string => {
  if (!(reason instanceof Error)) return String(reason)
  const stack = reason.stack ?? reason.message
  return reason.cause === undefined ? stack : `${stack}\ncaused by ${describe(reason.cause)}`
}
