/** What a pass does for a pool that is being restored from a backup: POOL-52. */

import { computePoolVersion } from '../cluster/pool-version.ts'
import { restoreConditions } from '../conditions.ts'
import { buildInventory } from '../inventory/inventory.ts'
import { summarizeEntries } from '../inventory/summary.ts'
import { findLeases, poolOf } from '../lease/lease.ts'
import { leaseActions } from '../lease/lease-actions.ts'
import type { Observed } from '../model/observed.ts'
import type { Action, Plan } from '../model/plan.ts'
import { statusActions } from '../status.ts'
import { bindingActions } from './bindings.ts'
import { sortIntoBuckets } from './buckets.ts'
import { countClusters } from './counts.ts'

/**
 * Clusters, claims and customizations come in any order, and some may not have come yet: nothing is made, leased, claimed or deleted. Leases
 * that do not name the cluster which uses them are written, because a backup has no status.
 */
export const decideRestore = (observed: Observed, now: Date): Plan => {
  const { pool } = observed
  const buckets = sortIntoBuckets(observed, now)
  const poolVersion = computePoolVersion(pool.spec)
  const leases = findLeases(observed, now)
  const inventory = buildInventory(observed, { poolVersion, leases, problems: new Map() }, now)
  const summary = inventory === undefined ? undefined : summarizeEntries(inventory, 0, 0)
  const conditions = restoreConditions(pool.metadata.generation, observed.clusters.length, buckets.claimed.length)
  const repairs = leaseActions(observed, leases, new Set(), now).actions.filter(
    ({ action }) => action === 'RepairLease',
  )
  const actions: readonly Action[] = [
    ...statusActions(observed, { buckets, poolVersion, inventory, summary, conditions }, now),
    ...repairs,
    ...bindingActions(observed),
    {
      action: 'Wait',
      about: 'everything',
      why: 'the pool is being restored: nothing is made, leased or deleted until its label is taken off',
    },
  ]
  return {
    pool: poolOf(observed),
    actions,
    recheckAt: undefined,
    counts: countClusters(observed, buckets, { stale: 0, waiting: 0 }),
  }
}
