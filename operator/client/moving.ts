import { errorOf } from '#lib/errors/error-of.ts'
import { type Clock, monotonic } from '../model/clock.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'

/** An answer that comes, but would never end. */
export class AnswerTooSlowError extends errorOf(OPERATOR_ERRORS, 'AnswerTooSlowError') {
  readonly code = 'AnswerTooSlow'
  constructor(bytes: number, ms: number) {
    super(`the answer comes too slowly: ${bytes} bytes in ${Math.round(ms / 1_000)} s`)
  }
}

/** Less than the line that an API server sends in each minute of a quiet watch. */
const MIN_BYTES = 100

/**
 * Watches whether a body moves: it may take any time, but not bring fewer than 100 bytes in `windowMs`. That it falls silent is noticed
 * elsewhere. RUNTIME-54.
 */
export class Movement {
  readonly #clock: Clock
  readonly #windowMs: number
  #since: number
  #bytes = 0

  constructor(clock: Clock, windowMs: number) {
    this.#clock = clock
    this.#windowMs = windowMs
    this.#since = monotonic(clock)
  }

  /** So much of it has come, and was used. @throws AnswerTooSlowError */
  came(bytes: number): void {
    this.#bytes += bytes
    const now = monotonic(this.#clock)
    if (now - this.#since < this.#windowMs) return
    if (this.#bytes < MIN_BYTES) throw new AnswerTooSlowError(this.#bytes, now - this.#since)
    this.#since = now
    this.#bytes = 0
  }
}

/** The chunks of a body, as long as it moves. @throws AnswerTooSlowError */
export async function* moving(
  chunks: AsyncIterable<Buffer>,
  movement: Movement,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) {
    yield chunk
    movement.came(chunk.length)
  }
}
