import type { Clock } from '../model/clock.ts'
import type { Duration } from '../model/duration.ts'
import type { Logger } from '../model/log.ts'
import type { OwnerReference } from '../model/resource.ts'
import type { Api } from './api.ts'

/** client-go's times: a holder that can't renew stops by itself before another one may take over. */
export interface LeaseTimes {
  /** How long others wait without a renewal before they take over. Default 15 s; rounded up to seconds. */
  readonly leaseDuration?: Duration
  /** How long a holder keeps trying to renew before it stops its work. Shorter than leaseDuration. Default 10 s. */
  readonly renewDeadline?: Duration
  /** Between attempts to acquire or renew. Default 2 s. */
  readonly retryPeriod?: Duration
}

export interface LeaseOptions {
  readonly api: Api
  readonly name: string
  readonly namespace: string
  /** Of this process or piece of work: unique, e.g. `<pod name>_<random>`. */
  readonly identity: string
  readonly times?: LeaseTimes
  /** Makes the Lease go with its owner. */
  readonly ownerReference?: OwnerReference
  /** Called with the holder's identity whenever it changes; '' when the lease is free. */
  readonly onHolder?: (identity: string) => void
  readonly clock: Clock
  readonly log: Logger
  /** Ends the work, releases the lease and resolves. */
  readonly signal: AbortSignal
  /** In [0, 1); for tests. */
  readonly random?: () => number
}
