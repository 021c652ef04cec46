import { DurationError, parseDuration } from '#operator/model/duration.ts'
import type { RawApiCall, RawLog } from '../raw-task.ts'
import type { ApiCall, Header, LogLine } from '../task.ts'
import type { Place } from './field-cursor.ts'

/** The peer's defaults for a request. */
const ATTEMPTS = 3
const BASE_DELAY = 1_000
const MAX_DELAY = 30_000

export const readCall = (place: Place, raw: RawApiCall): ApiCall => ({
  method: raw.method ?? 'GET',
  url: place.at('url').template(raw.url),
  headers: readHeaders(place.at('headers'), raw.headers),
  body: raw.body === undefined ? undefined : place.at('body').template(raw.body),
  retry: {
    attempts: Math.max(1, raw.retry_attempts ?? ATTEMPTS),
    backoff: raw.retry_backoff ?? 'exponential',
    baseDelay: readDuration(place.at('base_delay'), raw.base_delay) ?? BASE_DELAY,
    maxDelay: readDuration(place.at('max_delay'), raw.max_delay) ?? MAX_DELAY,
    timeout: readDuration(place.at('timeout'), raw.timeout),
  },
})

export const readHeaders = (place: Place, raw: RawApiCall['headers'] = []): readonly Header[] =>
  raw.map(({ name, value }, at) => ({ name, value: place.item(at).at('value').template(value) }))

export const readLog = (place: Place, raw: RawLog | undefined): LogLine | undefined =>
  raw === undefined
    ? undefined
    : {
        message: place.at('message').template(raw.message ?? ''),
        level: raw.level === 'warning' ? 'warn' : (raw.level ?? 'info'),
      }

/** Milliseconds. */
const readDuration = (place: Place, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  try {
    return parseDuration(text)
  } catch (error) {
    if (!(error instanceof DurationError)) throw error
    place.problem(error.message)
    return undefined
  }
}
