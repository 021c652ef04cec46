import { toMilliseconds } from '../model/duration.ts'
import type { LeaseTimes } from './lease-options.ts'

/** client-go's: contenders must not ask in step. */
export const ACQUIRE_JITTER = 1.2

const DEFAULTS = { leaseDuration: '15s', renewDeadline: '10s', retryPeriod: '2s' } as const

/** The times of a lease in milliseconds. @throws TypeError when a holder could still work while another takes over */
export const checkLeaseTimes = (times: LeaseTimes = {}) => {
  const { leaseDuration, renewDeadline, retryPeriod } = { ...DEFAULTS, ...times }
  const checked = {
    leaseDuration: toMilliseconds(leaseDuration),
    renewDeadline: toMilliseconds(renewDeadline),
    retryPeriod: toMilliseconds(retryPeriod),
  }
  if (checked.leaseDuration <= checked.renewDeadline || checked.renewDeadline <= checked.retryPeriod * ACQUIRE_JITTER)
    throw new TypeError('lease times must satisfy leaseDuration > renewDeadline > 1.2 × retryPeriod')
  return checked
}

/** How long a holder of a lease with the usual times has to stop when it can't renew it. Milliseconds. */
export const DEFAULT_STOP_MARGIN_MS = toMilliseconds(DEFAULTS.leaseDuration) - toMilliseconds(DEFAULTS.renewDeadline)
