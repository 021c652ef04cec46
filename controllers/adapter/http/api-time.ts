/**
 * The time of the HyperFleet API, as the `Date` of its answers tells it: it takes no report that is more than five minutes ahead or
 * thirty old, so a task whose machine has another time goes by this one. ADAPTER-111.
 */
import { type Clock, monotonic } from '#operator/model/clock.ts'

/** From this difference on the API's time counts, and the machine's own again below half of it: neither changes with each answer. */
const TOLERANCE_MS = 60_000
/** Answers that differ by less tell the same time: `Date` has whole seconds, and an answer takes a while. */
const AGREEMENT_MS = 5_000
/** Of one exchange; the time in a slower answer says too little. */
const MAX_EXCHANGE_MS = 10_000

export class ApiTime {
  readonly #clock: Clock
  /** When the monotonic clock was 0, by the API, in milliseconds since 1970. */
  #epoch: number | undefined
  /** Of an answer that told another time than those before: it counts when the next one tells the same. */
  #other: number | undefined
  #isOff = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The machine's clock, which tells the API's time where the two differ much. Pauses and spans are its own. */
  get clock(): Clock {
    const clock = this.#clock
    return {
      now: () => this.#now(),
      sleep: (duration, signal) => clock.sleep(duration, signal),
      monotonic: () => monotonic(clock),
    }
  }

  /**
   * @param date the header as it came
   * @param sentAt when the request was sent, by the monotonic clock
   */
  record(date: unknown, sentAt: number): void {
    const at = typeof date === 'string' ? Date.parse(date) : Number.NaN
    const now = monotonic(this.#clock)
    if (Number.isNaN(at) || now - sentAt > MAX_EXCHANGE_MS) return
    const epoch = at + 500 - now
    const isLike = (known: number | undefined) => known !== undefined && Math.abs(epoch - known) <= AGREEMENT_MS
    if (isLike(this.#epoch)) this.#other = undefined
    else if (this.#epoch === undefined || isLike(this.#other)) [this.#epoch, this.#other] = [epoch, undefined]
    else this.#other = epoch
  }

  #now(): Date {
    const local = this.#clock.now()
    if (this.#epoch === undefined) return local
    const api = this.#epoch + monotonic(this.#clock)
    this.#isOff = Math.abs(api - local.getTime()) > (this.#isOff ? TOLERANCE_MS / 2 : TOLERANCE_MS)
    return this.#isOff ? new Date(api) : local
  }
}
