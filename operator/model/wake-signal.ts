import { AbortScope } from '#lib/abort/abort-scope.ts'
import type { Clock } from './clock.ts'

/** Wakes a loop before its time. A wake-up while no loop waits ends the next wait at once. */
export class WakeSignal {
  readonly #clock: Clock
  #isSet = false
  #sleep = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  wake(): void {
    this.#isSet = true
    this.#sleep.abort()
  }

  /** Until `wake` is called, the milliseconds have passed, or the signal aborts; never throws. */
  async wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (!this.#isSet) {
      using either = new AbortScope(signal, this.#sleep.signal)
      await this.#clock.sleep(milliseconds, either.signal)
    }
    this.#isSet = false
    this.#sleep = new AbortController()
  }
}
