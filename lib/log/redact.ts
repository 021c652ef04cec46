/** What must not reach a log line. */

import { remedyOf } from '../errors/error-of.ts'

const SECRET = /token|password|passwd|secret|authorization|cookie|private_?key|client_?key/i
const CREDENTIALS_IN_URL = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi
const REDACTED = '[redacted]'
/** Deeper than any field we log; a cycle ends here. */
const DEEPEST = 6

const withoutCredentials = (text: string): string => text.replace(CREDENTIALS_IN_URL, `$1${REDACTED}@`)

const describeError = (error: Error, depth: number): object => ({
  name: error.name,
  message: withoutCredentials(error.message),
  ...(remedyOf(error) !== undefined && { remedy: remedyOf(error) }),
  ...('code' in error && { code: error.code }),
  ...(error.cause !== undefined && { cause: clean(error.cause, depth + 1) }),
  stack: withoutCredentials(error.stack ?? ''),
})

const clean = (value: unknown, depth: number): unknown => {
  if (typeof value === 'string') return withoutCredentials(value)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (depth > DEEPEST) return '…'
  if (value instanceof Error) return describeError(value, depth)
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, SECRET.test(key) ? REDACTED : clean(item, depth + 1)]),
  )
}

/**
 * The fields of a log line without secrets: values whose name says that they are one, and credentials within URLs.
 * Errors become plain objects with their causes.
 */
export const redact = (fields: object): Record<string, unknown> => clean({ ...fields }, 0) as Record<string, unknown>
