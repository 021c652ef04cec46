import type { ChildProcess } from 'node:child_process'
import type { Clock } from '#operator/model/clock.ts'
import { isAlive, type ProcessIdentity } from './process-table.ts'

/** How often a program that another agent started is looked at. Milliseconds. */
const POLL_INTERVAL_MS = 500

/**
 * How a program ended, for people; undefined when the signal aborted first.
 * @param child undefined for a program that another agent started
 */
export const waitForExit = async (
  identity: ProcessIdentity,
  child: ChildProcess | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> => {
  if (child !== undefined) return waitForChild(child, signal)
  while (!signal.aborted && (await isAlive(identity))) await clock.sleep(POLL_INTERVAL_MS, signal)
  return signal.aborted ? undefined : 'it ended'
}

const waitForChild = (child: ChildProcess, signal: AbortSignal): Promise<string | undefined> =>
  new Promise((resolve) => {
    const ended = (): void => {
      signal.removeEventListener('abort', aborted)
      resolve(
        child.signalCode === null ? `it ended with exit code ${child.exitCode}` : `it was ended by ${child.signalCode}`,
      )
    }
    const aborted = (): void => {
      child.off('exit', ended)
      resolve(undefined)
    }
    if (signal.aborted) resolve(undefined)
    else if (child.exitCode !== null || child.signalCode !== null) ended()
    else {
      child.once('exit', ended)
      signal.addEventListener('abort', aborted, { once: true })
    }
  })
