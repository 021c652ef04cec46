/** Durations as people write them in specs and flags: Go's syntax, as metav1.Duration reads them. */

import { errorOf } from '#lib/errors/error-of.ts'
import { quoteValue } from '#lib/text/quote.ts'
import { OPERATOR_ERRORS } from './error-catalogue.ts'

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

type Unit = keyof typeof UNITS

/** Milliseconds, or a text such as '500ms', '10s', '30m', '1h30m'. */
export type Duration = number | `${number}${Unit}` | `${number}${Unit}${string}`

const TEXT = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/g

export class DurationError extends errorOf(OPERATOR_ERRORS, 'DurationError') {
  constructor(text: string) {
    super(`${quoteValue(text)} is not a duration: write a number and a unit, such as 500ms, 10s, 30m or 1h30m`)
  }
}

/** Milliseconds of a duration text. @throws DurationError that says what to write instead. */
export const parseDuration = (text: string): number => {
  if (!TEXT.test(text)) throw new DurationError(text)
  const duration = [...text.matchAll(PART)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit as Unit],
    0,
  )
  if (!Number.isFinite(duration)) throw new DurationError(text)
  return duration
}

/** Milliseconds of a duration in either form. */
export const toMilliseconds = (duration: Duration): number =>
  typeof duration === 'number' ? duration : parseDuration(duration)

/** The shortest text for whole milliseconds, e.g. 5_400_000 → '1h30m'. */
export const formatDuration = (milliseconds: number): string => {
  if (milliseconds === 0) return '0s'
  let rest = milliseconds
  let text = ''
  for (const unit of ['h', 'm', 's', 'ms'] as const) {
    const amount = Math.floor(rest / UNITS[unit])
    if (amount > 0) text += `${amount}${unit}`
    rest -= amount * UNITS[unit]
  }
  return text
}
