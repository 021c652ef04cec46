/**
 * Moments as the API stores, compares and sends them: RFC 3339 in UTC with exactly six fractional digits.
 * One fixed-width form sorts as text in every database and says the same when it is written and when it is read back.
 */
export type Timestamp = string

const RFC3339 = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})$/

/** The timestamp of a clock's moment (milliseconds, so the last three digits are zero). */
export const timestampOf = (moment: Date): Timestamp => moment.toISOString().replace('Z', '000Z')

/** The moment of a timestamp, cut to milliseconds. */
export const momentOf = (timestamp: Timestamp): Date => new Date(timestamp)

/** Reads an RFC 3339 text in any offset; digits beyond microseconds are cut, never rounded. Undefined when it is none. */
export const parseTimestamp = (text: string): Timestamp | undefined => {
  const match = RFC3339.exec(text)
  if (match === null) return undefined
  const [, date, time, fraction = '', offset = ''] = match
  const seconds = new Date(`${date}T${time}${offset.toUpperCase()}`)
  if (Number.isNaN(seconds.getTime()) || !isRealDate(`${date}T${time}`)) return undefined
  return seconds.toISOString().replace(/\.000Z$/, `.${fraction.slice(0, 6).padEnd(6, '0')}Z`)
}

/** `Date` takes 30 February for 2 March; a calendar does not. */
const isRealDate = (local: string): boolean => {
  const date = new Date(`${local}Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(local)
}
