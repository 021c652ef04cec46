/**
 * Clusters that the API server does not take: what was sent is wrong, or a webhook or policy says so. A user that corrects a customization
 * says it by its version; the rest is not watched, so a pool without inventory asks again, one cluster at a time (POOL-40).
 */

import { type ExponentialBackoff, exponentialDelay } from '#operator/model/outcome.ts'
import { type Observed, sharedCustomizationVersion } from '../model/observed.ts'
import type { CreationFailure, CustomizationRejection, PoolRejection } from '../model/rejection.ts'

/** What a pool remembers of refusals; forgotten when its spec changes, and with the process. */
export interface Rejections {
  readonly ofCustomizations: Map<string, CustomizationRejection>
  /** Clusters that could not be made, by the name of their customization: creation-failures.ts. */
  readonly ofCreations: Map<string, CreationFailure>
  /** Of a pool without inventory. */
  ofPool: PoolRejection | undefined
  /** The uids of namespaces that carry the pool's label, and that it did not make: POOL-59. */
  readonly strangeNamespaces: Set<string>
}

export const noRejections = (): Rejections => ({
  ofCustomizations: new Map(),
  ofCreations: new Map(),
  ofPool: undefined,
  strangeNamespaces: new Set(),
})

/** The pause after the first refusal, in milliseconds; it doubles with each further one. */
export const FIRST_RETRY_DELAY_MS = 60_000
const RETRY_DELAY: ExponentialBackoff = { initial: FIRST_RETRY_DELAY_MS, factor: 2, max: 15 * 60_000 }

/** The refusal that still holds; undefined when clusters may be made. */
export const activeRejection = (observed: Observed): PoolRejection | undefined => {
  const { poolRejection, clusters } = observed
  if (poolRejection?.version !== sharedCustomizationVersion(observed)) return undefined
  return clusters.every(({ uid }) => poolRejection.clusters.has(uid)) ? poolRejection : undefined
}

/** Clusters are made side by side: all that are refused before the pause is over are one refusal. */
export const nextRejection = (observed: Observed, message: string, now: Date): PoolRejection => {
  const before = activeRejection(observed)
  const isSame = before !== undefined && before.until > now.getTime()
  const count = (before?.count ?? 0) + (isSame ? 0 : 1)
  return {
    version: sharedCustomizationVersion(observed),
    message,
    count,
    until: isSame ? before.until : now.getTime() + exponentialDelay(RETRY_DELAY, count),
    clusters: new Set(observed.clusters.map(({ uid }) => uid)),
  }
}
