/** What a pass does for a pool that is being deleted: POOL-38. */

import { computePoolVersion } from '../cluster/pool-version.ts'
import { deletionConditions } from '../conditions.ts'
import { buildInventory } from '../inventory/inventory.ts'
import { summarizeEntries } from '../inventory/summary.ts'
import { findLeases, poolOf } from '../lease/lease.ts'
import { leaseActions } from '../lease/lease-actions.ts'
import type { Cluster } from '../model/cluster.ts'
import { isSame } from '../model/names.ts'
import type { Observed } from '../model/observed.ts'
import type { Action, Plan } from '../model/plan.ts'
import { statusActions } from '../status.ts'
import { bindingActions } from './bindings.ts'
import { sortIntoBuckets } from './buckets.ts'
import { claimActions, planClaims, queueActions } from './claims.ts'
import { countClusters } from './counts.ts'
import { describeHeld, heldWaits, isHeld } from './inferred-deletions.ts'
import { namespaceActions } from './namespaces.ts'
import { sizeLimits } from './sizing.ts'

/**
 * Unclaimed clusters go, as fast as maxConcurrent allows; claimed ones stay with their claims and hold the pool. No claim is given
 * a cluster any more. The pool itself goes when it has neither clusters nor leases.
 */
export const decideDeletion = (observed: Observed, now: Date): Plan => {
  const { pool, clusters, customizations } = observed
  const { assignments, conflicts, waiting } = planClaims(observed, [])
  const promised = new Set(assignments.map(({ cluster }) => cluster))
  const buckets = sortIntoBuckets(observed, now)
  const version = computePoolVersion(pool.spec)
  const leases = findLeases(observed, now)
  const inventory = buildInventory(observed, { poolVersion: version, leases, problems: new Map() }, now)

  const { concurrent } = sizeLimits({ spec: pool.spec, buckets, unseen: 0, waiting: 0 })
  const { marked, broken, installing, standby, assignable } = buckets
  // Deleting the pool deletes its unclaimed clusters; deleting its namespace names none of them. POOL-66.
  const isUnasked = (cluster: Cluster) => observed.namespaceDeletedAt !== undefined && isHeld(observed, cluster)
  const going = [
    ...marked.filter((cluster) => !isHeld(observed, cluster)),
    ...[...broken, ...installing, ...standby, ...assignable].filter((one) => !promised.has(one) && !isUnasked(one)),
  ]
  const deletions = going.slice(0, concurrent)
  const waits = going.length > deletions.length ? [waitForRoom(going.length - deletions.length)] : []

  const held = [...customizations.values()].filter(
    (one) => one.pool !== undefined && isSame(one.pool, poolOf(observed)),
  )
  const care = leaseActions(observed, leases, new Set(), now)
  // Nothing is made any more, so no namespace has to wait for its cluster.
  const namespaces = namespaceActions(observed, now, 0)
  const isEmpty = clusters.length === 0 && held.length === 0 && namespaces.actions.length === 0
  const conditions = deletionConditions(
    pool.metadata.generation,
    clusters,
    held.length,
    observed.heldDeletions && describeHeld(observed.heldDeletions),
  )
  const summary = inventory === undefined ? undefined : summarizeEntries(inventory, 0, 0)

  const actions: readonly Action[] = [
    ...statusActions(observed, { buckets, poolVersion: version, inventory, summary, conditions }, now),
    ...care.actions,
    ...claimActions(assignments, conflicts),
    ...deletions.map(
      (cluster): Action => ({ action: 'DeleteCluster', cluster, isStale: false, why: 'the pool is being deleted' }),
    ),
    ...queueActions(waiting, () => `pool ${pool.metadata.name} is being deleted: claim from another one`),
    ...bindingActions(observed),
    ...namespaces.actions,
    ...heldWaits(observed),
    ...waits,
    ...(isEmpty ? [{ action: 'RemovePoolFinalizer', why: 'it has neither clusters nor leases' } as const] : []),
  ]
  const next = Math.min(...care.recheckTimes)
  return {
    pool: poolOf(observed),
    actions,
    recheckAt: Number.isFinite(next) ? new Date(next) : undefined,
    counts: countClusters(observed, buckets, { stale: 0, waiting: waiting.length }),
  }
}

const waitForRoom = (clusters: number): Action => ({
  action: 'Wait',
  about: 'clusters',
  why: `clusters that are deleted when maxConcurrent allows: ${clusters}`,
})
