import Type, { type TUnsafe } from 'typebox'
import type { Duration } from '#operator/model/duration.ts'
import { rules } from './rule.ts'

/** Digits are bounded so that CEL's duration(), which is int64 nanoseconds, cannot overflow within `maxLength`. */
const WRITTEN = '^([0-9]{1,6}(\\\\.[0-9]{1,3})?(ms|s|m|h))+$'
/** As `WRITTEN`, with the smaller units that existing manifests may hold. */
const SPAN = '^([0-9]{1,6}(\\\\.[0-9]{1,3})?(ns|us|µs|ms|s|m|h))+$'

/**
 * A span of time as Go writes it, at most a week. Below 100ms a loop would be a flood: 0s is the usual mistake.
 * @param options.default What the API server fills in when the field is left out; nothing without one.
 */
export const duration = (options: { description: string; default?: Duration }): TUnsafe<Duration> =>
  Type.Unsafe<Duration>({
    type: 'string',
    maxLength: 20,
    ...options,
    ...rules({
      rule: `self.matches('${WRITTEN}') && duration(self) >= duration('100ms') && duration(self) <= duration('168h')`,
      message: 'must be a duration from 100ms to 168h, written as 500ms, 10s, 30m or 1h30m',
    }),
  })

/** Ten years: beyond it a number was mistyped. */
const MAX_DURATION = '87600h'

/** A span of time that may be left out, from 0s on, as Go writes it; Hive's fields have no other bounds. */
export const span = (options: { description: string; default?: Duration }): TUnsafe<Duration> =>
  Type.Unsafe<Duration>({
    type: 'string',
    maxLength: 32,
    ...options,
    ...rules({
      rule: `self.matches('${SPAN}') && duration(self) <= duration('${MAX_DURATION}')`,
      message: `must be a duration of at most ${MAX_DURATION}, written as 90s, 30m, 8h or 1h30m`,
    }),
  })
