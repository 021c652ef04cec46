import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Sink } from '../feed/watch.ts'

/** Milliseconds that a cut-off reader has to take what was still written for it. */
const END_TIMEOUT_MS = 10_000

/** A response as a sink of server-sent events. */
export const createSink = (response: ServerResponse, signal: AbortSignal): Sink => ({
  signal,
  write: (bytes) => {
    if (!response.writableEnded && !response.destroyed) response.write(bytes)
    return response.writableLength
  },
  drained: async () => {
    if (!response.writableNeedDrain || signal.aborted) return
    await once(response, 'drain', { signal }).catch(() => {
      // Gone or stopping: the caller looks at the signal.
    })
  },
})

/** Ends a stream after its last words, at once when its reader is gone. */
export const endStream = (response: ServerResponse): void => {
  response.end()
  const timer = setTimeout(() => response.destroy(), END_TIMEOUT_MS)
  timer.unref()
  response.once('close', () => clearTimeout(timer))
}
