/** Takes events from their source as long as there is capacity for them, and connects again after failures. */
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { type ExponentialBackoff, exponentialDelay } from '#operator/model/outcome.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import type { Delivery, EventSource } from '../events/source.ts'

export interface EventIntakeOptions {
  readonly source: EventSource
  /** How many more events may be taken now. */
  freeCapacity(): number
  onDelivery(delivery: Delivery): void
  /** `connected` or `problem` has changed. */
  onStatusChange(): void
  readonly clock: Clock
  readonly log: Logger
}

/** After the source could not be reached, in milliseconds. */
const SOURCE_RETRY: ExponentialBackoff = { initial: 500, factor: 2, max: 30_000 }
/** How long the loop waits without capacity; `wake` ends the wait. */
const IDLE_WAIT_MS = 30_000

export class EventIntake {
  readonly #options: EventIntakeOptions
  readonly #capacity: WakeSignal
  /** The source has answered. */
  connected = false
  /** Why events can't be taken; undefined when they can. */
  problem: string | undefined

  constructor(options: EventIntakeOptions) {
    this.#options = options
    this.#capacity = new WakeSignal(options.clock)
  }

  /** There may be capacity again. */
  wake(): void {
    this.#capacity.wake()
  }

  /** Takes events until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { source, freeCapacity, onDelivery, onStatusChange, clock, log } = this.#options
    let failures = 0
    while (!signal.aborted) {
      const free = freeCapacity()
      if (free <= 0) {
        await this.#capacity.wait(IDLE_WAIT_MS, signal)
        continue
      }
      try {
        if (!this.connected) await source.open(signal)
        if (this.problem !== undefined || !this.connected) onStatusChange()
        this.problem = undefined
        this.connected = true
        for (const delivery of await source.take(free, signal)) onDelivery(delivery)
        failures = 0
      } catch (error) {
        this.connected = false
        if (signal.aborted) return
        const delayMs = exponentialDelay(SOURCE_RETRY, ++failures)
        const problem = error instanceof Error ? error.message : String(error)
        if (this.problem !== problem) log.warn('adapter: events could not be taken, retrying', { problem, delayMs })
        this.problem = problem
        onStatusChange()
        await clock.sleep(delayMs, signal)
      }
    }
  }
}
