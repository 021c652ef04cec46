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
  const given = backoff ?? defaultBackoff
  return {
    errors,
    retries: retries ?? Number.POSITIVE_INFINITY,
    timeout: timeout === undefined ? Number.POSITIVE_INFINITY : toMilliseconds(timeout),
    backoff:
      typeof given === 'object'
        ? {
            initial: toMilliseconds(given.initial),
            factor: given.factor,
            max: toMilliseconds(given.max),
            jitter: JITTER,
          }
        : { initial: toMilliseconds(given), factor: 1, max: toMilliseconds(given), jitter: 0 },
  }
}
