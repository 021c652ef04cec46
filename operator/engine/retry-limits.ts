import { toMilliseconds } from '../model/duration.ts'
import type { Limits, RetryPolicy } from '../model/outcome.ts'
import type { OperatorSettings } from './settings.ts'

/** Growing delays differ by up to a fifth, so that what failed together is not tried together; constant ones are exact. */
const JITTER = 0.2

/** A handler's policy with the operator's defaults, in milliseconds. */
export const retryLimits = (
  { errors = 'temporary', retries, timeout, backoff }: RetryPolicy,
  { defaultBackoff }: OperatorSettings['execution'],
): Limits => {
  const growth = backoff ?? defaultBackoff
  return {
    errors,
    retries: retries ?? Number.POSITIVE_INFINITY,
    timeout: timeout === undefined ? Number.POSITIVE_INFINITY : toMilliseconds(timeout),
    backoff:
      typeof growth === 'object'
        ? {
            initial: toMilliseconds(growth.initial),
            factor: growth.factor,
            max: toMilliseconds(growth.max),
            jitter: JITTER,
          }
        : { initial: toMilliseconds(growth), factor: 1, max: toMilliseconds(growth), jitter: 0 },
  }
}
