import type { Clock } from './clock.ts'

/** Wakes a loop before its time: a ring that nobody waits for is kept until somebody does. */
export class Bell {
  readonly #clock: Clock
  #rung = false
  #wake = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  ring(): void {
    this.#rung = true
    this.#wake.abort()
  }

  /** Until it rings, the milliseconds have passed, or the signal aborts; never throws. */
  async wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung) await this.#clock.sleep(milliseconds, AbortSignal.any([signal, this.#wake.signal]))
    this.#rung = false
    this.#wake = new AbortController()
  }
}
