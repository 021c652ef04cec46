import type { Registry } from 'prom-client'
import type { Clock } from '#operator/model/clock.ts'

export interface SentinelOptions {
  readonly clock: Clock
  /** Where the Sentinel's metrics are registered. */
  readonly registry: Registry
  /** Of this program. */
  readonly version: string
  /** Of this process: `<host name>_<random>`. */
  readonly identity: string
  /** The one SentinelConfig to work on; undefined: all. */
  readonly config?: string | undefined
  /** The HyperFleet API of SentinelConfigs that name none, and the only one that gets the token. Undefined: they may name any, without it. */
  readonly hyperfleetApiUrl?: string | undefined
  /** Prefixes of the URLs of others that they may name. */
  readonly httpTargets?: readonly string[]
  /** File with the bearer token for that API, read for every request. */
  readonly hyperfleetApiTokenFile?: string | undefined
  /** File with the authorities that it is known by, PEM; those of the machine when left out. */
  readonly hyperfleetApiCa?: string | undefined
  /** Gives back what is garbage, where the process is the Sentinel's: it takes as long as all that lives in it is large. SENTINEL-46. */
  readonly collectGarbage: () => void
  /** Refuse a SentinelConfig whose shard overlaps another one's. Needs the admission webhook. */
  readonly denyOverlap?: boolean
}
