/** What is done about leases besides taking them for new clusters: POOL-5 to POOL-8. */

import { isSame, keyOf } from '../model/names.ts'
import type { Observed } from '../model/observed.ts'
import { compareText } from '../model/order.ts'
import type { Action } from '../model/plan.ts'
import type { CreationFailure } from '../model/rejection.ts'
import { type LeaseEnd, leaseEndOf } from './history.ts'
import type { Lease } from './lease.ts'

export interface LeaseActions {
  readonly actions: readonly Action[]
  /** When an abandoned lease may be released; milliseconds since the epoch. */
  readonly recheckTimes: readonly number[]
}

/** @param inUse Customizations for which this pass makes clusters: their lease is written there. */
export const leaseActions = (
  observed: Observed,
  leases: ReadonlyMap<string, Lease>,
  inUse: ReadonlySet<string>,
  now: Date,
): LeaseActions => {
  const actions: Action[] = clusterFinalizerActions(observed, now)
  const recheckTimes: number[] = []
  for (const [name, lease] of [...leases].toSorted(([a], [b]) => compareText(a, b))) {
    const customization = observed.customizations.get(name)
    if (customization === undefined || inUse.has(name)) continue
    switch (lease.state) {
      case 'Free':
        if (!lease.clean)
          actions.push({
            action: 'ReleaseLease',
            customization,
            end: { outcome: 'Lost' },
            why: releaseReason(customization.available),
          })
        break
      case 'Used':
        if (!lease.written && !lease.cluster.deprovisioned)
          actions.push({
            action: 'RepairLease',
            customization,
            cluster: lease.cluster,
            why: `cluster ${lease.cluster.name} uses it, and its lease does not say so`,
          })
        break
      case 'Taken':
        // POOL-38: its cluster is made no more. Should a manager that slept make it now, it comes too late to be registered (POOL-58).
        if (lease.abandonedAt <= now.getTime() || observed.pool.metadata.deletionTimestamp !== undefined)
          actions.push({
            action: 'ReleaseLease',
            customization,
            end: unmadeEnd(observed.creationFailures.get(name)),
            why: `it was taken for cluster ${lease.cluster.name}, which ${describeUnmade(observed.creationFailures.get(name))}`,
          })
        else {
          recheckTimes.push(lease.abandonedAt)
          actions.push({
            action: 'Wait',
            about: name,
            why: `it is taken for cluster ${lease.cluster.name}, which may be in the making`,
          })
        }
        break
      case 'Unseen':
        actions.push({
          action: 'Wait',
          about: name,
          why: `cluster ${lease.cluster.name}, which leases it, was not seen yet`,
        })
        break
      case 'Elsewhere':
        if (lease.freeAt !== undefined) recheckTimes.push(lease.freeAt)
        break
      case 'Contested':
        actions.push({
          action: 'Wait',
          about: name,
          why: `cluster ${keyOf(lease.holder)} and cluster ${lease.cluster.name} both have it`,
        })
        break
    }
  }
  return { actions, recheckTimes }
}

/** The lease is released before the cluster goes: POOL-6. */
const clusterFinalizerActions = (observed: Observed, now: Date): Action[] =>
  observed.clusters
    .filter(({ deprovisioned }) => deprovisioned)
    .map((cluster) => {
      const leased = observed.customizations.get(cluster.customization ?? '')
      const isItsOwn = leased?.cluster !== undefined && isSame(leased.cluster, cluster)
      return {
        action: 'RemoveClusterFinalizer',
        cluster,
        customization: isItsOwn ? leased : undefined,
        end: leaseEndOf(cluster, observed, now),
        why: isItsOwn ? `its lease of ${leased.name} is all that is left of it` : 'nothing is left of it',
      }
    })

const unmadeEnd = (failure: CreationFailure | undefined): LeaseEnd => ({
  outcome: 'NeverMade',
  ...(failure !== undefined && { message: failure.message }),
})

const describeUnmade = (failure: CreationFailure | undefined): string =>
  failure === undefined ? 'was never made and is not wanted any more' : `could not be made: ${failure.message}`

const releaseReason = (available: boolean | undefined): string =>
  available === undefined ? 'it has no condition Available yet' : 'no cluster uses it, and its conditions say otherwise'
