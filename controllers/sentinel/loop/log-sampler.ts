/** Every failure is logged while they are few: so many lines a window. Milliseconds. */
const WINDOW_MS = 60_000
const LINES_PER_WINDOW = 10
const SAMPLE_EVERY = 100

/** Which of many like lines are written: the first ten of a minute, then each hundredth, each with the number of those left out before it. */
export class LogSampler {
  #windowBegan = Number.NEGATIVE_INFINITY
  #seen = 0
  #omitted = 0

  /** @param now milliseconds of a clock that is never set back @returns how many were left out since the last line; undefined when this one is */
  next(now: number): number | undefined {
    if (now - this.#windowBegan >= WINDOW_MS) {
      this.#windowBegan = now
      this.#seen = 0
    }
    this.#seen += 1
    if (this.#seen > LINES_PER_WINDOW && this.#seen % SAMPLE_EVERY !== 0) {
      this.#omitted += 1
      return undefined
    }
    const omitted = this.#omitted
    this.#omitted = 0
    return omitted
  }
}
