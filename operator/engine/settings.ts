import type { LeaseTimes } from '../client/lease-options.ts'
import { checkLeaseTimes, DEFAULT_STOP_MARGIN_MS } from '../client/lease-times.ts'
import { type Duration, toMilliseconds } from '../model/duration.ts'

/** What can be tuned, and its defaults. Durations. */
export interface OperatorSettings {
  readonly watching: {
    /** A watch that was silent for so long is dead: the API server sends a bookmark about once a minute. */
    readonly inactivityTimeout: Duration
  }
  readonly queueing: {
    /** Objects handled at the same time, for each controller that doesn't say. */
    readonly concurrency: number
    /** After the first, second, … failure of the runtime itself (not of a handler) with an object; the last one repeats. RUNTIME-23. */
    readonly errorDelays: readonly Duration[]
  }
  readonly execution: {
    /** For handlers that don't say. */
    readonly defaultBackoff: { readonly initial: Duration; readonly factor: number; readonly max: Duration }
    /** How long handlers have to end once their signal has aborted; then their requests are cut. A lease is released after that. */
    readonly stopTimeout: Duration
  }
  readonly persistence: {
    /** How long handlers wait for our own write to come back by the watch. */
    readonly consistencyTimeout: Duration
  }
  /** Only the replica that holds this Lease runs handlers; absent: every replica does. */
  readonly election?: Election
}

export interface Election {
  readonly lease: string
  readonly namespace: string
  /** How long others wait after the last renewal. Default 15s. */
  readonly duration?: Duration
  /** The holder gives up when it could not renew for so long. Default 10s. */
  readonly renew?: Duration
  /** Between tries. Default 2s. */
  readonly retry?: Duration
}

/** Settings with any part left out. */
export type SettingsInput = { readonly [Group in keyof OperatorSettings]?: Partial<OperatorSettings[Group]> } & {
  readonly election?: Election
}

const DEFAULTS: OperatorSettings = {
  watching: { inactivityTimeout: '70s' },
  queueing: {
    concurrency: 16,
    errorDelays: ['1s', '1s', '2s', '3s', '5s', '8s', '13s', '21s', '30s'],
  },
  execution: { defaultBackoff: { initial: '500ms', factor: 2, max: '5m' }, stopTimeout: '900ms' },
  persistence: { consistencyTimeout: '5s' },
}

/** The given settings over the defaults. @throws DurationError, RangeError for what can't work, before anything starts */
export const withDefaults = (input: SettingsInput = {}): OperatorSettings => {
  const settings: OperatorSettings = {
    watching: { ...DEFAULTS.watching, ...input.watching },
    queueing: { ...DEFAULTS.queueing, ...input.queueing },
    execution: { ...DEFAULTS.execution, ...input.execution },
    persistence: { ...DEFAULTS.persistence, ...input.persistence },
    ...(input.election === undefined ? {} : { election: input.election }),
  }
  const { concurrency, errorDelays } = settings.queueing
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new RangeError(`settings.queueing.concurrency: ${concurrency} must be a whole number from 1 on`)
  }
  if (errorDelays.length === 0) throw new RangeError('settings.queueing.errorDelays: give at least one delay')
  const { defaultBackoff, stopTimeout } = settings.execution
  for (const duration of [
    settings.watching.inactivityTimeout,
    ...errorDelays,
    defaultBackoff.initial,
    defaultBackoff.max,
    stopTimeout,
    settings.persistence.consistencyTimeout,
  ]) {
    toMilliseconds(duration)
  }
  checkStopTime(settings)
  return settings
}

/** The times of the Lease; those that the settings don't have are the client's. */
export const leaseTimesOf = ({ duration, renew, retry }: Election): LeaseTimes => ({
  ...(duration !== undefined && { leaseDuration: duration }),
  ...(renew !== undefined && { renewDeadline: renew }),
  ...(retry !== undefined && { retryPeriod: retry }),
})

/**
 * Handlers that are told to stop because their lease can't be renewed must have stopped before another process may take it.
 * Daemons' leases have the usual times. RUNTIME-49.
 */
const checkStopTime = ({ execution: { stopTimeout }, election }: OperatorSettings): void => {
  const { leaseDuration, renewDeadline } = checkLeaseTimes(election && leaseTimesOf(election))
  const shortest = Math.min(leaseDuration - renewDeadline, DEFAULT_STOP_MARGIN_MS)
  if (toMilliseconds(stopTimeout) >= shortest)
    throw new RangeError(
      `settings.execution.stopTimeout: ${stopTimeout} must be shorter than ${shortest} ms, which are between the moment when a holder gives a lease up and the one when another takes it`,
    )
}
