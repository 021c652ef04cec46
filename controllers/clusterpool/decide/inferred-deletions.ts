/**
 * Deletions that no person asked for: clusters that are to go because of what is not seen or no longer works. Too many at once are held
 * until a person has looked at them (POOL-53). A cluster whose installation was given up is no loss. One that is past its deadline may be:
 * that it was installed is told by another process, which may be the one that stands still.
 */
import type { Cluster } from '../model/cluster.ts'
import { deletedAt } from '../model/metadata.ts'
import type { InferredClusterDeletion, Observed } from '../model/observed.ts'
import { compareText } from '../model/order.ts'
import type { Action } from '../model/plan.ts'
import { brokenReason, isClaimGone, isSilentForLong } from './buckets.ts'
import { planClaims } from './claims.ts'

/**
 * All that would be deleted now for such a reason, in the order of their names. A claim whose cluster does not say yet that it has it is
 * one of that cluster's already: the list that a person read is not another one a write later.
 */
export const findInferredDeletions = (observed: Observed, now: Date): readonly InferredClusterDeletion[] => {
  const halfDone = new Map(planClaims(observed, []).assignments.map(({ claim, cluster }) => [cluster, claim.name]))
  return observed.clusters
    .flatMap((cluster) => {
      const why = inferredReason(cluster, observed, now)
      return why === undefined
        ? []
        : [
            {
              key: cluster.uid,
              revision: cluster.claim ?? halfDone.get(cluster) ?? '',
              name: cluster.name,
              why,
              ...silentSince(cluster, observed),
            } satisfies InferredClusterDeletion,
          ]
    })
    .toSorted((a, b) => compareText(a.name, b.name))
}

const silentSince = (cluster: Cluster, { pool }: Observed): Pick<InferredClusterDeletion, 'silentSince'> =>
  cluster.claim === undefined && isSilentForLong(cluster, pool.spec)
    ? { silentSince: Date.parse(cluster.unreachable?.since ?? '') }
    : {}

const inferredReason = (cluster: Cluster, observed: Observed, now: Date): string | undefined => {
  if (cluster.deleting) return undefined
  const ending = endingReason(cluster, observed)
  if (ending !== undefined || cluster.marked) return ending
  if (!cluster.installed && cluster.stopped !== undefined) return undefined
  if (cluster.claim === undefined) return brokenReason(cluster, observed.pool.spec, now)
  return isClaimGone(cluster, observed.absentClaims, now) ? `its claim ${cluster.claim} is gone` : undefined
}

/**
 * Why a cluster goes when the namespace of its pool was deleted: no person named its pool or its claim. All of them count at once, for claims
 * and pool are deleted one after the other. What a person deleted before the namespace is no part of that. POOL-66.
 */
const endingReason = (
  { claim }: Cluster,
  { pool, claims, namespace, namespaceDeletedAt }: Observed,
): string | undefined => {
  if (namespaceDeletedAt === undefined) return undefined
  const owner =
    claim === undefined ? { deletedAt: deletedAt(pool.metadata) } : claims.find(({ name }) => name === claim)
  if (owner?.deletedAt !== undefined && owner.deletedAt < namespaceDeletedAt) return undefined
  return `its ${claim === undefined ? 'pool' : `claim ${claim}`} goes with namespace ${namespace}`
}

/** May the cluster not be deleted now, because a person has to look at it first? */
export const isHeld = ({ heldDeletions }: Observed, { uid }: Cluster): boolean =>
  heldDeletions?.deletions.some(({ key }) => key === uid) ?? false

/** A `Wait` for what is held. */
export const heldWaits = ({ heldDeletions }: Observed): readonly Action[] =>
  heldDeletions === undefined ? [] : [{ action: 'Wait', about: 'deletions', why: describeHeld(heldDeletions) }]

const MAX_NAMES = 20

/** For people: how many, which, why, and what releases them. */
export const describeHeld = ({ deletions, release, limit, doubt }: NonNullable<Observed['heldDeletions']>): string => {
  const named = deletions.slice(0, MAX_NAMES).map(({ name, why }) => `${name} (${why})`)
  const rest = deletions.length - named.length
  const list = `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
  const why = doubt ?? `more than ${limit} at once are held`
  return `${deletions.length} clusters would be deleted though no person asked for it, and ${why}: ${list}. Find out what happened to them; release them with the annotation hive.openshift.io/release-deletions=${release}`
}
