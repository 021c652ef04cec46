/** Deletes the namespaces of a pool that have no cluster any more: POOL-36. */

import { LEASE_GRACE_MS } from '../lease/lease.ts'
import type { Observed, PoolNamespace } from '../model/observed.ts'
import { compareText } from '../model/order.ts'
import type { Action } from '../model/plan.ts'

export interface NamespaceActions {
  readonly actions: readonly Action[]
  /** When namespaces that are left may go; milliseconds since the epoch. */
  readonly recheckTimes: readonly number[]
}

/**
 * Deletes namespaces without a cluster: one whose cluster was seen to go at once.
 * @param grace How old any other one must be, in milliseconds: a manager may be about to create the cluster in it.
 */
export const namespaceActions = (
  { namespaces, clusters, customizations, unfinishedClusters }: Observed,
  now: Date,
  grace = LEASE_GRACE_MS,
): NamespaceActions => {
  const needed = new Set([
    ...clusters.map(({ namespace }) => namespace),
    ...[...customizations.values()].flatMap(({ cluster }) => cluster?.namespace ?? []),
  ])
  const left = namespaces
    .filter(
      ({ name, terminating, isUsed, isOfEarlierPool }) =>
        !terminating && !isOfEarlierPool && !isUsed && !needed.has(name),
    )
    .toSorted((a, b) => compareText(a.name, b.name))
  const unfinished = new Set(unfinishedClusters.map(({ namespace }) => namespace))
  const hasSeenItsCluster = ({ name, wasUsed }: PoolNamespace) => wasUsed && !unfinished.has(name)
  const mayGo = (one: PoolNamespace) => hasSeenItsCluster(one) || one.createdAt + grace <= now.getTime()
  return {
    actions: left
      .filter(mayGo)
      .map(({ name, uid }) => ({ action: 'DeleteNamespace', name, uid, why: 'no cluster is in it' })),
    recheckTimes: left.filter((one) => !mayGo(one)).map(({ createdAt }) => createdAt + grace),
  }
}
