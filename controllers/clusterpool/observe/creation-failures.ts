/**
 * Clusters that could not be made though the API server takes them as they are: a namespace or a Secret was denied, a quota is used up, a
 * namespace of that name never ends. Each pass tries again, and the lease of such a cluster is given back after a while (POOL-47).
 */
import { exponentialDelay } from '#operator/model/outcome.ts'
import { COOL_OFF } from '../inventory/attempts.ts'
import { LEASE_GRACE_MS } from '../lease/lease.ts'
import type { CustomizationState } from '../model/customization-state.ts'
import type { Observed } from '../model/observed.ts'
import type { CreationFailure } from '../model/rejection.ts'

/** Under this name stands the failure of a pool without inventory: no customization has an empty name. */
export const WITHOUT_CUSTOMIZATION = ''

export interface FailedCreation extends Pick<CreationFailure, 'cluster' | 'version' | 'message'> {
  /** Whether a lease stands for it, or none is needed. */
  readonly isLeased: boolean
}

/** A further try at the same cluster keeps the time of the first one; another cluster begins anew. A lease that was not taken is no try. */
export const nextCreationFailure = (
  before: CreationFailure | undefined,
  { isLeased, ...tried }: FailedCreation,
  now: Date,
): CreationFailure => {
  if (!isLeased) return { ...tried, firstAt: undefined, count: before?.version === tried.version ? before.count : 0 }
  const isSame = before?.cluster === tried.cluster && before.firstAt !== undefined
  if (isSame) return { ...before, ...tried }
  const count = before?.version === tried.version ? before.count + 1 : 1
  return { ...tried, firstAt: now.getTime(), count }
}

/**
 * Until when no lease is taken after this failure; the customization rests longer with each further one, and not at all when it had no lease.
 * Milliseconds since the epoch.
 */
export const restEnd = ({ firstAt, count }: CreationFailure): number =>
  firstAt === undefined ? 0 : firstAt + LEASE_GRACE_MS + exponentialDelay(COOL_OFF, count)

/** The last cluster of a customization, if that could not be made and the customization was not edited since. */
export const creationFailureOf = (
  { name, version }: CustomizationState,
  { creationFailures }: Observed,
): CreationFailure | undefined => {
  const failure = creationFailures.get(name)
  return failure?.version === version ? failure : undefined
}
