/**
 * Clusters that the API server does not take: what was sent is wrong, or a webhook or policy says so. Whoever mends a customization
 * says it by its version; nobody watches the rest, so a pool without inventory asks again, one cluster at a time.
 */
import { type ExponentialBackoff, exponentialDelay } from '#operator/model/outcome.ts'
import { type Observed, versionForAll } from '../model/observed.ts'

/** It did not take the ClusterDeployment that a customization gave. */
export interface Refused {
  /** Of the customization: another one may be taken. */
  readonly version: string
  /** What the API server said. */
  readonly message: string
}

/** It did not take the ClusterDeployment of a pool without inventory. */
export interface Refusal extends Refused {
  /** Of the customization for all clusters; empty when there is none. */
  readonly version: string
  /** How often in a row. */
  readonly count: number
  /** When it is asked again, in milliseconds since the epoch. */
  readonly until: number
  /** The uids of the pool's clusters at that time: when there is another one, clusters are taken again. */
  readonly clusters: ReadonlySet<string>
}

/** What a pool remembers of refusals; forgotten when its spec changes, and with the process. */
export interface Refusals {
  readonly ofCustomizations: Map<string, Refused>
  /** Of a pool without inventory. */
  ofPool: Refusal | undefined
}

/** The pause after the first refusal, in milliseconds; it doubles with each further one. */
export const FIRST_PAUSE = 60_000
const PAUSE: ExponentialBackoff = { initial: FIRST_PAUSE, factor: 2, max: 15 * 60_000 }

/** The refusal that still holds; undefined when clusters may be made. */
export const holding = (observed: Observed): Refusal | undefined => {
  const { refusal, clusters } = observed
  if (refusal?.version !== versionForAll(observed)) return undefined
  return clusters.every(({ uid }) => refusal.clusters.has(uid)) ? refusal : undefined
}

/** Clusters are made side by side: all that are refused before the pause is over are one refusal. */
export const refusedAgain = (observed: Observed, message: string, now: Date): Refusal => {
  const before = holding(observed)
  const isSame = before !== undefined && before.until > now.getTime()
  const count = (before?.count ?? 0) + (isSame ? 0 : 1)
  return {
    version: versionForAll(observed),
    message,
    count,
    until: isSame ? before.until : now.getTime() + exponentialDelay(PAUSE, count),
    clusters: new Set(observed.clusters.map(({ uid }) => uid)),
  }
}
