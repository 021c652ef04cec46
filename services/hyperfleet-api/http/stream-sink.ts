import type { ServerResponse } from 'node:http'
import { detach } from '#lib/process/detach.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Sink } from '../feed/sink.ts'

/** Milliseconds that a cut-off reader has to take what was still written for it. */
const END_TIMEOUT_MS = 10_000
/** A reader that has taken nothing for so long of what waits for it is cut off. */
const STALL_TIMEOUT_MS = 60_000

export interface SinkOptions {
  /** Aborted when the reader is gone or the server stops. */
  readonly signal: AbortSignal
  /** Tells callers apart. */
  readonly caller: string
  readonly clock: Pick<Clock, 'sleep'>
  /** Called before the first bytes. */
  readonly begin: () => void
  /** Called when the reader is cut off because it takes nothing. */
  readonly onStalled: () => void
}

/** A response as a sink of a stream whose reader must go on reading (API-91, API-204). */
export const createSink = (
  response: ServerResponse,
  { signal, caller, clock, begin, onStalled }: SinkOptions,
): Sink => {
  let written = 0
  let unfinished = 0
  let waiting: PromiseWithResolvers<void> | undefined
  let isWatched = false
  const cutOff = (): boolean => {
    if (response.writableLength === 0 || response.destroyed) return false
    onStalled()
    response.destroy()
    return true
  }
  const bytesTaken = () => written - response.writableLength
  const watchReader = async (): Promise<void> => {
    isWatched = true
    while (response.writableLength > 0 && !signal.aborted) {
      const before = bytesTaken()
      await clock.sleep(STALL_TIMEOUT_MS, signal)
      if (signal.aborted || response.writableLength === 0 || bytesTaken() > before) continue
      cutOff()
      return
    }
    isWatched = false
  }
  const finishOne = () => {
    unfinished -= 1
    if (unfinished === 0) waiting?.resolve()
  }
  signal.addEventListener('abort', () => waiting?.resolve(), { once: true })
  return {
    signal,
    caller,
    cutOff,
    write: (bytes, delivered) => {
      if (response.writableEnded || response.destroyed) {
        delivered?.()
        return response.writableLength
      }
      begin()
      unfinished += 1
      response.write(bytes, () => {
        finishOne()
        delivered?.()
      })
      written += Buffer.byteLength(bytes)
      if (response.writableLength > 0 && !isWatched) detach('watching the reader of a stream', watchReader())
      return response.writableLength
    },
    drained: async () => {
      if (unfinished === 0 || signal.aborted) return
      waiting = Promise.withResolvers()
      await waiting.promise
    },
  }
}

/** Ends a stream after its last words, at once when its reader is gone. */
export const endStream = (response: ServerResponse): void => {
  response.end()
  const timer = setTimeout(() => response.destroy(), END_TIMEOUT_MS)
  timer.unref()
  response.once('close', () => clearTimeout(timer))
}
