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
 * The chunks of a body, as long as it moves: it may take any time, but not bring fewer than 100 bytes in `windowMs`. That it falls
 * silent is noticed elsewhere. RUNTIME-54.
 * @throws AnswerTooSlowError
 */
export async function* moving(
  chunks: AsyncIterable<Buffer>,
  clock: Clock,
  windowMs: number,
): AsyncGenerator<Buffer, void, undefined> {
  let since = monotonic(clock)
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    yield chunk
    const now = monotonic(clock)
    if (now - since < windowMs) continue
    if (bytes < MIN_BYTES) throw new AnswerTooSlowError(bytes, now - since)
    since = now
    bytes = 0
  }
}
