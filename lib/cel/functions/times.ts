/** Timestamps and durations. A timestamp has milliseconds here, a duration nanoseconds. */
import { Duration } from '../values.ts'
import { type CelFunction, functionError } from './function.ts'

const FIRST = Date.parse('0001-01-01T00:00:00Z')
const LAST = Date.parse('9999-12-31T23:59:59.999Z')

export const isTimestamp = (value: Date): boolean => value.getTime() >= FIRST && value.getTime() <= LAST

/** Seconds of the longest duration: 10,000 years. */
const MOST_SECONDS = 315_576_000_000n

export const isDuration = ({ seconds }: Duration): boolean => seconds <= MOST_SECONDS && seconds >= -MOST_SECONDS

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

export const parseTimestamp = (text: string): Date => {
  // A leap of more digits than milliseconds is cut, as Date does.
  const value = new Date(RFC3339.test(text) ? text.toUpperCase() : Number.NaN)
  // Date takes the 30th of February for the 2nd of March.
  const day = Number(text.slice(8, 10))
  const exists = day <= new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate()
  if (exists && isTimestamp(value)) return value
  const quoted = JSON.stringify(text.slice(0, 40))
  throw functionError('invalid_timestamp', `timestamp(): ${quoted} is no time: write one as 2026-01-31T12:00:00Z`)
}

export const timestampOf = (seconds: bigint): Date => {
  const value = new Date(Number(seconds) * 1_000)
  if (isTimestamp(value)) return value
  throw functionError('invalid_timestamp', `timestamp(): ${seconds} seconds are out of range`)
}

export const secondsOf = (value: Date): bigint => BigInt(Math.floor(value.getTime() / 1_000))

const NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}
const PART = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/gy
const SECOND = 1_000_000_000n

/** Go's time.ParseDuration. */
export const parseDuration = (text: string): Duration => {
  const invalid = (): Error =>
    functionError(
      'invalid_duration',
      `duration(): ${JSON.stringify(text.slice(0, 40))} is none: write one as 1h30m or 0.5s`,
    )
  if (text.length > 100) throw invalid()
  const isNegative = text.startsWith('-')
  const unsigned = text.replace(/^[+-]/, '')
  if (unsigned === '0') return new Duration(0n)
  let nanoseconds = 0n
  let end = 0
  for (const [part, whole = '', fraction = '', unit = ''] of unsigned.matchAll(PART)) {
    if (whole === '' && fraction === '') throw invalid()
    const scale = NANOSECONDS[unit] ?? 0n
    nanoseconds += BigInt(whole === '' ? '0' : whole) * scale
    nanoseconds += (BigInt(fraction === '' ? '0' : fraction) * scale) / 10n ** BigInt(fraction.length)
    end += part.length
  }
  if (end === 0 || end !== unsigned.length) throw invalid()
  const total = isNegative ? -nanoseconds : nanoseconds
  const value = new Duration(total / SECOND, Number(total % SECOND))
  if (!isDuration(value)) throw invalid()
  return value
}

const FIELDS = ['weekday', 'year', 'month', 'day', 'hour', 'minute', 'second'] as const
const formats = new Map<string, Intl.DateTimeFormat>()
const MOST_ZONES = 500

const formatIn = (zone: string): Intl.DateTimeFormat => {
  const known = formats.get(zone)
  if (known !== undefined) return known
  let made: Intl.DateTimeFormat
  try {
    made = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      weekday: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    const quoted = JSON.stringify(zone.slice(0, 40))
    throw functionError('invalid_time_zone', `${quoted} is no time zone: write one as Europe/Berlin or +02:00`)
  }
  if (formats.size >= MOST_ZONES) formats.clear()
  formats.set(zone, made)
  return made
}

/** The wall clock in a zone, as a Date whose UTC parts are the zone's. */
const inZone = (value: Date, zone: string): Date => {
  const offset = /^([+-]?)(\d\d):(\d\d)$/.exec(zone)
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3])
    return new Date(value.getTime() + (offset[1] === '-' ? -minutes : minutes) * 60_000)
  }
  const parts = new Map<string, string>(
    formatIn(zone)
      .formatToParts(value)
      .map(({ type, value: text }) => [type, text]),
  )
  const [, year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = FIELDS.map((field) =>
    Number(parts.get(field)),
  )
  const wall = new Date(0)
  wall.setUTCFullYear(year, month - 1, day)
  wall.setUTCHours(hour, minute, second, value.getUTCMilliseconds())
  return wall
}

const dayOfYear = (value: Date): number =>
  Math.floor((value.getTime() - new Date(0).setUTCFullYear(value.getUTCFullYear(), 0, 1)) / 86_400_000)

const PARTS: Readonly<Record<string, readonly [what: string, part: (value: Date) => number]>> = {
  getFullYear: ['The year.', (value) => value.getUTCFullYear()],
  getMonth: ['The month, 0 to 11.', (value) => value.getUTCMonth()],
  getDate: ['The day of the month, from 1.', (value) => value.getUTCDate()],
  getDayOfMonth: ['The day of the month, from 0.', (value) => value.getUTCDate() - 1],
  getDayOfWeek: ['The day of the week, 0 is Sunday.', (value) => value.getUTCDay()],
  getDayOfYear: ['The day of the year, from 0.', dayOfYear],
  getHours: ['The hour.', (value) => value.getUTCHours()],
  getMinutes: ['The minute.', (value) => value.getUTCMinutes()],
  getSeconds: ['The second.', (value) => value.getUTCSeconds()],
  getMilliseconds: ['The millisecond.', (value) => value.getUTCMilliseconds()],
}

/** Steps that a look into the time zone database takes. */
const ZONE_COST = 300

const partFunctions = Object.entries(PARTS).flatMap(([name, [description, part]]): CelFunction[] => [
  { signature: `timestamp.${name}(): int`, description, call: (value: Date) => BigInt(part(value)) },
  {
    signature: `timestamp.${name}(string): int`,
    description: `${description.slice(0, -1)}, in a time zone.`,
    call: (value: Date, zone: string) => BigInt(part(inZone(value, zone))),
    cost: () => ZONE_COST,
  },
])

export const timeFunctions: readonly CelFunction[] = [
  ...partFunctions,
  {
    signature: 'duration.getHours(): int',
    description: 'All of it in hours.',
    call: (value: Duration) => value.seconds / 3_600n,
  },
  {
    signature: 'duration.getMinutes(): int',
    description: 'All of it in minutes.',
    call: (value: Duration) => value.seconds / 60n,
  },
  {
    signature: 'duration.getSeconds(): int',
    description: 'All of it in seconds.',
    call: (value: Duration) => value.seconds,
  },
  {
    signature: 'duration.getMilliseconds(): int',
    description: 'Its milliseconds, without the seconds.',
    call: (value: Duration) => BigInt(Math.trunc(value.nanos / 1_000_000)),
  },
]
