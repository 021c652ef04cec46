/** Readings that take long, each of which serves all that is asked meanwhile. */
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { untilAborted } from '#lib/abort/until-aborted.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'

/** Of one key, from the beginning of a reading to that of the next. Milliseconds. */
export const READING_INTERVAL_MS = 1_000

interface Turn<T> {
  begunAt: number
  /** The last that has begun. */
  reading: Promise<T> | undefined
  isRunning: boolean
  /** The next, which has not begun. */
  next: Promise<T> | undefined
}

/** Of each key one reading begins in a second, however many ask: field managers that are forged on many objects cost no more. */
export class SharedReadings<T> {
  readonly #read: (key: string) => Promise<T>
  readonly #clock: Clock
  readonly #turns = new Map<string, Turn<T>>()

  constructor(read: (key: string) => Promise<T>, clock: Clock) {
    this.#read = read
    this.#clock = clock
  }

  /** One that begins after the call: what was written before it is in it. @throws what it failed with, or the signal's reason */
  next(key: string, signal: AbortSignal): Promise<T> {
    const turn = this.#turnOf(key)
    turn.next ??= this.#begin(key, turn)
    return orAborted(turn.next, signal)
  }

  /** The last, while it goes on and for a second after its beginning; otherwise `next`. @throws what it failed with, or the signal's reason */
  recent(key: string, signal: AbortSignal): Promise<T> {
    const { reading } = this.#turnOf(key)
    return reading === undefined ? this.next(key, signal) : orAborted(reading, signal)
  }

  #turnOf(key: string): Turn<T> {
    const isOver = ({ begunAt, isRunning, next }: Turn<T>) =>
      !isRunning && next === undefined && monotonic(this.#clock) - begunAt >= READING_INTERVAL_MS
    for (const [one, turn] of this.#turns) if (isOver(turn)) this.#turns.delete(one)
    const fresh = { begunAt: Number.NEGATIVE_INFINITY, reading: undefined, isRunning: false, next: undefined }
    const turn = this.#turns.get(key) ?? fresh
    this.#turns.set(key, turn)
    return turn
  }

  async #begin(key: string, turn: Turn<T>): Promise<T> {
    await turn.reading?.catch(() => {})
    const rest = READING_INTERVAL_MS - (monotonic(this.#clock) - turn.begunAt)
    if (rest > 0) await this.#clock.sleep(rest)
    turn.begunAt = monotonic(this.#clock)
    turn.next = undefined
    turn.isRunning = true
    const reading = this.#read(key).finally(() => {
      turn.isRunning = false
    })
    turn.reading = reading
    reading.catch(() => {
      turn.reading = undefined
    })
    return reading
  }
}

const orAborted = async <T>(reading: Promise<T>, signal: AbortSignal): Promise<T> => {
  using scope = new AbortScope(signal)
  const aborted = untilAborted(scope.signal).then(() => {
    throw signal.reason
  })
  return await Promise.race([reading, aborted])
}
