/** The status of a pool as one value, and whether it has to be written. */
import { isDeepStrictEqual } from 'node:util'
import type { ClusterPoolStatus } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { type ConditionInput, withConditions } from '#operator/model/conditions.ts'
import type { Buckets } from './decide/buckets.ts'
import type { Inventory } from './inventory/inventory.ts'
import type { Summary } from './inventory/summary.ts'
import type { Observed } from './model/observed.ts'
import type { Action } from './model/plan.ts'

export interface StatusInput {
  readonly buckets: Buckets
  readonly poolVersion: string
  readonly inventory: Inventory | undefined
  readonly summary: Summary | undefined
  readonly conditions: readonly ConditionInput[]
}

/** Writes the status when it says something else than before; nothing otherwise. */
export const statusActions = (observed: Observed, found: StatusInput, now: Date): readonly Action[] => {
  const { pool } = observed
  const { assignable, standby, installing, broken, claimed } = found.buckets
  const { generation } = pool.metadata
  // What only a later release writes stays: while an upgrade goes on, this one may lead beside it.
  const { inventorySummary: _, inventory: __, recentDeletions, ...others } = pool.status ?? {}
  const status: ClusterPoolStatus = {
    ...others,
    ...(observed.isBrakeCounting && { recentDeletions }),
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: [...withConditions(pool.status?.conditions, found.conditions, now)],
    size: assignable.length + standby.length + installing.length + broken.length,
    ready: assignable.length,
    standby: standby.length,
    claimed: claimed.length,
    poolVersion: found.poolVersion,
    ...(found.summary !== undefined && { inventorySummary: found.summary.short }),
    ...(found.inventory !== undefined && { inventory: found.inventory }),
  }
  if (isDeepStrictEqual(status, pool.status)) return []
  return [{ action: 'WriteStatus', status, why: 'the status says something else' }]
}

/** The first status: it says that nothing is known yet (POOL-42). */
export const initialStatusActions = (
  { pool }: Observed,
  conditions: readonly ConditionInput[],
  now: Date,
): readonly Action[] => [
  {
    action: 'WriteStatus',
    status: { ...pool.status, conditions: [...withConditions(undefined, conditions, now)] },
    why: 'the pool was just seen',
  },
]
