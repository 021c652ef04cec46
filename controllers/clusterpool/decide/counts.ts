import { poolOf } from '../lease/lease.ts'
import { isSame } from '../model/names.ts'
import type { Observed } from '../model/observed.ts'
import type { Counts } from '../model/plan.ts'
import type { Buckets } from './buckets.ts'

/** How many clusters, leases and claims a pass found, by where they stand. */
export const countClusters = (
  observed: Observed,
  buckets: Buckets,
  rest: Pick<Counts, 'stale' | 'waiting'>,
): Counts => {
  const { assignable, claimed, deleting, marked, installing, standby, broken } = buckets
  const pool = poolOf(observed)
  return {
    assignable: assignable.length,
    claimed: claimed.length,
    deleting: deleting.length + marked.length,
    installing: installing.length,
    standby: standby.length,
    broken: broken.length,
    leases: [...observed.customizations.values()].filter((one) => one.pool !== undefined && isSame(one.pool, pool))
      .length,
    held: observed.heldDeletions?.deletions.length ?? 0,
    ...rest,
  }
}
