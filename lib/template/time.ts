/** Go's layouts of times: `2006-01-02T15:04:05Z07:00` says how by an example. All times here are in UTC. */

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

export const monthOf = (time: Date): string => MONTHS[time.getUTCMonth()] ?? ''
export const weekdayOf = (time: Date): string => DAYS[time.getUTCDay()] ?? ''

export const yearDay = (time: Date): number =>
  Math.floor((time.getTime() - Date.UTC(time.getUTCFullYear(), 0, 1)) / 86_400_000) + 1

const two = (value: number, fill = '0'): string => String(value).padStart(2, fill)
const hour12 = (time: Date): number => time.getUTCHours() % 12 || 12

/** Milliseconds as nine digits. */
const nanoseconds = (time: Date): string => `${String(time.getUTCMilliseconds()).padStart(3, '0')}000000`

const ELEMENTS: Readonly<Record<string, (time: Date) => string>> = {
  January: monthOf,
  Jan: (time) => monthOf(time).slice(0, 3),
  Monday: weekdayOf,
  Mon: (time) => weekdayOf(time).slice(0, 3),
  MST: () => 'UTC',
  '2006': (time) => String(time.getUTCFullYear()).padStart(4, '0'),
  '06': (time) => two(time.getUTCFullYear() % 100),
  '002': (time) => String(yearDay(time)).padStart(3, '0'),
  __2: (time) => String(yearDay(time)).padStart(3, ' '),
  '01': (time) => two(time.getUTCMonth() + 1),
  '02': (time) => two(time.getUTCDate()),
  _2: (time) => two(time.getUTCDate(), ' '),
  '03': (time) => two(hour12(time)),
  '04': (time) => two(time.getUTCMinutes()),
  '05': (time) => two(time.getUTCSeconds()),
  '15': (time) => two(time.getUTCHours()),
  '1': (time) => String(time.getUTCMonth() + 1),
  '2': (time) => String(time.getUTCDate()),
  '3': (time) => String(hour12(time)),
  '4': (time) => String(time.getUTCMinutes()),
  '5': (time) => String(time.getUTCSeconds()),
  PM: (time) => (time.getUTCHours() >= 12 ? 'PM' : 'AM'),
  pm: (time) => (time.getUTCHours() >= 12 ? 'pm' : 'am'),
  'Z07:00:00': () => 'Z',
  'Z07:00': () => 'Z',
  Z070000: () => 'Z',
  Z0700: () => 'Z',
  Z07: () => 'Z',
  '-07:00:00': () => '+00:00:00',
  '-07:00': () => '+00:00',
  '-070000': () => '+000000',
  '-0700': () => '+0000',
  '-07': () => '+00',
}

/**
 * Longest elements first, so that none is taken for the beginning of another. A month's or day's short name counts only when
 * no lower letter follows, and fractions only when no digit does, as in Go.
 */
const ELEMENT = new RegExp(
  [
    'January',
    'Jan(?![a-z])',
    'Monday',
    'Mon(?![a-z])',
    'MST',
    '(?:(?<=05))?[.,](?:0+|9+)(?!\\d)',
    '2006',
    '__2',
    '_2(?!006)',
    'Z07:00:00',
    'Z070000',
    'Z07:00',
    'Z0700',
    'Z07',
    '-07:00:00',
    '-070000',
    '-07:00',
    '-0700',
    '-07',
    '002',
    '0[1-6]',
    '15',
    '[1-5]',
    'PM',
    'pm',
  ].join('|'),
  'g',
)

const fraction = (element: string, time: Date): string => {
  const digits = nanoseconds(time)
    .slice(0, element.length - 1)
    .padEnd(element.length - 1, '0')
  if (element.charAt(1) === '0') return element.charAt(0) + digits
  const short = digits.replace(/0+$/, '')
  return short === '' ? '' : element.charAt(0) + short
}

/** time.Time.Format. */
export const formatTime = (time: Date, layout: string): string =>
  layout.replaceAll(ELEMENT, (element) => ELEMENTS[element]?.(time) ?? fraction(element, time))

/** time.Time.String. */
export const timeText = (time: Date): string => formatTime(time, '2006-01-02 15:04:05.999999999 -0700 MST')
