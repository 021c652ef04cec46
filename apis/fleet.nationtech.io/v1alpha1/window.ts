/** When changes may begin. FLEET-45. */
import Type, { type Static } from 'typebox'
import { rules } from '#apis/schema/rule.ts'
import type { Duration } from '#operator/model/duration.ts'

/** One field of cron: `*`, a value or a range, each with an optional step, several separated by commas. */
const field = (value: string): string => {
  const one = `([*]|${value}(-${value})?)(/[1-9][0-9]?)?`
  return `${one}(,${one})*`
}
const MONTHS = 'JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC'
const DAYS = 'SUN|MON|TUE|WED|THU|FRI|SAT'
/** Minute, hour, day of the month, month, day of the week. */
const CRON = [
  field('[0-5]?[0-9]'),
  field('([01]?[0-9]|2[0-3])'),
  field('(0?[1-9]|[12][0-9]|3[01])'),
  field(`(0?[1-9]|1[0-2]|${MONTHS})`),
  field(`([0-7]|${DAYS})`),
].join(' +')

const window = () =>
  Type.Object(
    {
      schedule: Type.String({
        description:
          'When it opens, as cron writes it: minute, hour, day of the month, month, day of the week. `0 2 * * SAT` is Saturdays at two.',
        maxLength: 100,
        ...rules({
          rule: `self.matches('^${CRON}$')`,
          message:
            'must be five fields of cron, separated by spaces: minute hour day-of-month month day-of-week, such as "0 2 * * SAT"',
        }),
      }),
      timeZone: Type.String({
        description: 'Whose clock the schedule goes by, as the tz database names it, such as Europe/Berlin.',
        default: 'UTC',
        maxLength: 64,
        pattern: '^[A-Za-z]+[A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$',
      }),
      duration: Type.Unsafe<Duration>({
        type: 'string',
        description: 'How long it stays open, in time that passes, whatever clocks are set to meanwhile.',
        maxLength: 20,
        ...rules({
          rule: "self.matches('^([0-9]{1,6}(s|m|h))+$') && duration(self) >= duration('1m') && duration(self) <= duration('168h')",
          message: 'must be a duration from 1m to 168h, written as 30m, 4h or 1h30m',
        }),
      }),
    },
    { description: 'A time in which changes may begin.' },
  )

/** A list of windows; changes may begin while any of them is open. */
export const windows = (options: { description: string }) =>
  Type.Optional(Type.Array(window(), { minItems: 1, maxItems: 8, 'x-kubernetes-list-type': 'atomic', ...options }))

export type Window = Static<ReturnType<typeof window>>
