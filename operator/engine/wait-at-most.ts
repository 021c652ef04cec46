import { setTimeout as realDelay } from 'node:timers/promises'
import { untilAborted } from '#lib/abort/until-aborted.ts'

/**
 * Waits for work, but once the signal has aborted not longer than `timeoutMs` milliseconds: of the machine's time, not the
 * clock's, because a process must go, whatever time its handlers think it is.
 */
export const waitAtMost = async (work: unknown, signal: AbortSignal, timeoutMs: number): Promise<void> => {
  if (!(work instanceof Promise)) return
  const done = new AbortController()
  const timeout = untilAborted(signal).then(() =>
    realDelay(timeoutMs, undefined, { signal: done.signal }).catch(() => {}),
  )
  try {
    await Promise.race([work, timeout])
  } finally {
    done.abort()
  }
}
