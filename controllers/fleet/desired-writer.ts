/** Stores what FleetState wants written, with compare-and-set, and tells it what became of that. FLEET-91. */
import { messageOf } from '#lib/errors/message-of.ts'
import { isFull } from '#lib/nats/limits.ts'
import type { Logger } from '#operator/model/log.ts'
import type { DesiredStore } from './nats/desired-store.ts'
import type { FleetState } from './state/fleet-state.ts'
import type { DesiredWrite } from './state/key-update.ts'

/** So many writes are on their way at once. */
const MAX_CONCURRENT_WRITES = 128

export interface WriterOptions {
  readonly state: FleetState
  /** Undefined while NATS is away. */
  store(): DesiredStore | undefined
  /** Called for each that the store took. */
  stored(write: DesiredWrite): void
  /** Called for each that the store has no room for. */
  refused(write: DesiredWrite): void
  readonly log: Logger
}

/**
 * Writes until nothing is left to write, or the store does not answer: then what is left is wanted again at the next call.
 * @returns how many were stored
 */
export const writeDesired = async (
  { state, store, stored, refused, log }: WriterOptions,
  signal: AbortSignal,
): Promise<number> => {
  let count = 0
  let refusals = 0
  for (;;) {
    const target = store()
    const writes = target === undefined ? [] : state.takeWrites()
    if (target === undefined || writes.length === 0) {
      if (refusals > 0) log.warn('fleet: fleet-desired is full, what was refused is written again in 5 s', { refusals })
      return count
    }
    let problem: unknown
    const next = writes.values()
    const worker = async (): Promise<void> => {
      for (const write of next) {
        if (problem !== undefined || signal.aborted) {
          state.retry(write.key)
          continue
        }
        try {
          const { outcome, seen } = await target.write(write)
          state.desiredSeen(seen)
          if (outcome === 'Stale') continue
          count += 1
          stored(write)
        } catch (error) {
          if (isFull(error)) {
            // Others may be smaller than what they replace, or deletions, which make room.
            state.refused(write.key)
            refused(write)
            refusals += 1
            continue
          }
          problem = error
          state.retry(write.key)
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT_WRITES, writes.length) }, worker))
    if (signal.aborted) return count
    if (problem !== undefined) {
      log.warn('fleet: keys of fleet-desired could not be written, trying again', { problem: messageOf(problem) })
      return count
    }
  }
}
