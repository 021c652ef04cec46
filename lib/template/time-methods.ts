import { monthOf, weekdayOf, yearDay } from './time.ts'
import type { Value } from './value.ts'

/** What a time can be asked for beside Format. */
export const TIME_METHODS = new Map<string, (time: Date) => Value>(
  Object.entries({
    UTC: (time: Date) => time,
    Unix: (time: Date) => BigInt(Math.floor(time.getTime() / 1_000)),
    UnixMilli: (time: Date) => BigInt(time.getTime()),
    Year: (time: Date) => BigInt(time.getUTCFullYear()),
    Month: monthOf,
    Day: (time: Date) => BigInt(time.getUTCDate()),
    Weekday: weekdayOf,
    YearDay: (time: Date) => BigInt(yearDay(time)),
    Hour: (time: Date) => BigInt(time.getUTCHours()),
    Minute: (time: Date) => BigInt(time.getUTCMinutes()),
    Second: (time: Date) => BigInt(time.getUTCSeconds()),
  }),
)
