/**
 * Sends pulses: a bounded number at a time, and one that fails holds up no other (SENTINEL-14, SENTINEL-15).
 * Each resource keeps its order, because the schedule hands out a resource's next pulse only when the one before has landed.
 */

import { detach } from '#lib/process/detach.ts'
import type { Clock } from '#operator/model/clock.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import type { DuePulse } from '../decision/schedule.ts'

/** Pulses on their way at the same time: enough to fill the API, few enough to be fair to others. */
const MAX_IN_FLIGHT = 8

export interface PublisherHandlers {
  /** @throws HyperFleetError */
  send(due: DuePulse): Promise<void>
  sent(due: DuePulse): void
  failed(due: DuePulse, error: unknown): void
  /** There is room for another pulse again. */
  capacityFreed(): void
}

export interface Publisher {
  /** Whether another pulse can be sent now: not while all places are taken, nor while the API asked for silence. */
  readonly hasCapacity: boolean
  send(due: DuePulse): void
}

/** What has not landed when the signal aborts is neither sent nor failed. */
export const createPublisher = (handlers: PublisherHandlers, clock: Clock, signal: AbortSignal): Publisher => {
  let inFlight = 0
  let paused = false

  const publish = async (due: DuePulse): Promise<void> => {
    try {
      await handlers.send(due)
      if (!signal.aborted) handlers.sent(due)
    } catch (error) {
      if (signal.aborted) return
      handlers.failed(due, error)
      if (error instanceof HyperFleetError && error.retryAfter !== undefined)
        detach('waiting as long as the API asked for', pause(error.retryAfter))
    } finally {
      inFlight--
      handlers.capacityFreed()
    }
  }

  /** `Retry-After` holds for every pulse, not only for the one that was told. */
  const pause = async (milliseconds: number): Promise<void> => {
    if (paused) return
    paused = true
    await clock.sleep(milliseconds, signal)
    paused = false
    handlers.capacityFreed()
  }

  return {
    get hasCapacity() {
      return inFlight < MAX_IN_FLIGHT && !paused && !signal.aborted
    },
    send(due) {
      inFlight++
      detach('sending a pulse', publish(due))
    },
  }
}
