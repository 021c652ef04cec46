import { FRAMING_HEADERS } from '#lib/http/exchange.ts'
import { DurationError, parseDuration } from '#operator/model/duration.ts'
import type { RawApiCall, RawLog } from '../raw-task.ts'
import type { ApiCall, Header, LogLine } from '../task.ts'
import type { FieldCursor } from './field-cursor.ts'

/** Defaults of a request, as in the Go adapter. */
const DEFAULT_ATTEMPTS = 3
const DEFAULT_BASE_DELAY_MS = 1_000
const DEFAULT_MAX_DELAY_MS = 30_000

export const readCall = (cursor: FieldCursor, raw: RawApiCall): ApiCall => ({
  method: raw.method ?? 'GET',
  url: cursor.at('url').template(raw.url),
  headers: readHeaders(cursor.at('headers'), raw.headers),
  body: raw.body === undefined ? undefined : cursor.at('body').template(raw.body),
  retry: {
    attempts: Math.max(1, raw.retry_attempts ?? DEFAULT_ATTEMPTS),
    backoff: raw.retry_backoff ?? 'exponential',
    baseDelayMs: readDuration(cursor.at('base_delay'), raw.base_delay) ?? DEFAULT_BASE_DELAY_MS,
    maxDelayMs: readDuration(cursor.at('max_delay'), raw.max_delay) ?? DEFAULT_MAX_DELAY_MS,
    timeoutMs: readDuration(cursor.at('timeout'), raw.timeout),
  },
})

/** Headers that say how a request is sent, and to which of the sites at an address; the sender writes them. ADAPTER-54. */
const RESERVED_HEADERS = ['host', 'connection', 'te', ...FRAMING_HEADERS]

export const readHeaders = (cursor: FieldCursor, raw: RawApiCall['headers'] = []): readonly Header[] =>
  raw.map(({ name, value }, at) => {
    const header = cursor.item(at)
    if (RESERVED_HEADERS.includes(name.toLowerCase()))
      header.at('name').problem(`${name} is written by the sender: leave it out`)
    return { name, value: header.at('value').template(value) }
  })

export const readLog = (cursor: FieldCursor, raw: RawLog | undefined): LogLine | undefined =>
  raw === undefined
    ? undefined
    : {
        message: cursor.at('message').template(raw.message ?? ''),
        level: raw.level === 'warning' ? 'warn' : (raw.level ?? 'info'),
      }

/** Milliseconds. */
const readDuration = (cursor: FieldCursor, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  try {
    return parseDuration(text)
  } catch (error) {
    if (!(error instanceof DurationError)) throw error
    cursor.problem(error.message)
    return undefined
  }
}
