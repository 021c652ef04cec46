import { DurationError, parseDuration } from '#operator/model/duration.ts'
import type { RawApiCall, RawLog } from '../raw-task.ts'
import type { ApiCall, Header, LogLine } from '../task.ts'
import type { FieldCursor } from './field-cursor.ts'

/** Defaults of a request, as in the Go adapter. */
const DEFAULT_ATTEMPTS = 3
const DEFAULT_BASE_DELAY_MS = 1_000
const DEFAULT_MAX_DELAY_MS = 30_000

export const readCall = (place: FieldCursor, raw: RawApiCall): ApiCall => ({
  method: raw.method ?? 'GET',
  url: place.at('url').template(raw.url),
  headers: readHeaders(place.at('headers'), raw.headers),
  body: raw.body === undefined ? undefined : place.at('body').template(raw.body),
  retry: {
    attempts: Math.max(1, raw.retry_attempts ?? DEFAULT_ATTEMPTS),
    backoff: raw.retry_backoff ?? 'exponential',
    baseDelayMs: readDuration(place.at('base_delay'), raw.base_delay) ?? DEFAULT_BASE_DELAY_MS,
    maxDelayMs: readDuration(place.at('max_delay'), raw.max_delay) ?? DEFAULT_MAX_DELAY_MS,
    timeoutMs: readDuration(place.at('timeout'), raw.timeout),
  },
})

export const readHeaders = (place: FieldCursor, raw: RawApiCall['headers'] = []): readonly Header[] =>
  raw.map(({ name, value }, at) => ({ name, value: place.item(at).at('value').template(value) }))

export const readLog = (place: FieldCursor, raw: RawLog | undefined): LogLine | undefined =>
  raw === undefined
    ? undefined
    : {
        message: place.at('message').template(raw.message ?? ''),
        level: raw.level === 'warning' ? 'warn' : (raw.level ?? 'info'),
      }

/** Milliseconds. */
const readDuration = (place: FieldCursor, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  try {
    return parseDuration(text)
  } catch (error) {
    if (!(error instanceof DurationError)) throw error
    place.problem(error.message)
    return undefined
  }
}
