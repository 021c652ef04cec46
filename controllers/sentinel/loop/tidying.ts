/** Fewer pulses leave too little to be worth the pause. */
const PULSES = 5_000

/**
 * When garbage is collected (SENTINEL-46): what the first look at everything leaves, and what many pulses leave once all that was due is
 * sent. V8 would keep it as long as little new is made, which is how a Sentinel works from then on.
 */
export class Tidying {
  readonly #collect: () => void
  #isSwept = false
  #pulsesThen: number

  /** @param pulses how many there are by now */
  constructor(collect: () => void, pulses: number) {
    this.#collect = collect
    this.#pulsesThen = pulses
  }

  /** Everything was looked at. */
  sweepEnded(): void {
    if (this.#isSwept) return
    this.#isSwept = true
    this.#collect()
  }

  /** Nothing is due. @param pulses how many there are by now */
  everythingPulsed(pulses: number): void {
    if (pulses - this.#pulsesThen < PULSES) return
    this.#pulsesThen = pulses
    this.#collect()
  }
}
