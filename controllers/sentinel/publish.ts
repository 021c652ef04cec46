/**
 * Sends pulses: a bounded number at a time, and one that fails holds up no other.
 * Each resource keeps its order, because the schedule hands out a resource's next pulse only when the one before has landed.
 */

import type { Clock } from '#operator/model/clock.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import type { Due } from './schedule.ts'

/** Pulses on their way at the same time: enough to fill the API, few enough to be fair to others. */
const CONCURRENCY = 8

export interface Delivery {
  /** @throws HyperFleetError */
  send(due: Due): Promise<void>
  sent(due: Due): void
  failed(due: Due, error: unknown): void
  /** There is room for another pulse again. */
  room(): void
}

export interface Publisher {
  /** Whether another pulse can be sent now: not while all places are taken, nor while the API asked for silence. */
  readonly hasRoom: boolean
  send(due: Due): void
}

/** What has not landed when the signal aborts is neither sent nor failed. */
export const createPublisher = (delivery: Delivery, clock: Clock, signal: AbortSignal): Publisher => {
  let flying = 0
  let paused = false

  const land = async (due: Due): Promise<void> => {
    try {
      await delivery.send(due)
      if (!signal.aborted) delivery.sent(due)
    } catch (error) {
      if (signal.aborted) return
      delivery.failed(due, error)
      if (error instanceof HyperFleetError && error.retryAfter !== undefined) void pause(error.retryAfter)
    } finally {
      flying--
      delivery.room()
    }
  }

  /** `Retry-After` holds for every pulse, not only for the one that was told. */
  const pause = async (milliseconds: number): Promise<void> => {
    if (paused) return
    paused = true
    await clock.sleep(milliseconds, signal)
    paused = false
    delivery.room()
  }

  return {
    get hasRoom() {
      return flying < CONCURRENCY && !paused && !signal.aborted
    },
    send(due) {
      flying++
      void land(due)
    },
  }
}
