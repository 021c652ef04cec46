/** What is done about leases besides taking them for new clusters. Anchors hive-clusterpool W3, W5, W10; scenarios 10 to 18. */

import { isSame, keyOf, type Observed } from '../model/observed.ts'
import { compare } from '../model/order.ts'
import type { Action } from '../model/plan.ts'
import type { Lease } from './lease.ts'

export interface LeaseCare {
  readonly actions: readonly Action[]
  /** When an abandoned lease may be released; milliseconds since the epoch. */
  readonly times: readonly number[]
}

/** @param inUse Customizations for which this pass makes clusters: their lease is written there. */
export const leaseCare = (
  observed: Observed,
  leases: ReadonlyMap<string, Lease>,
  inUse: ReadonlySet<string>,
  now: Date,
): LeaseCare => {
  const actions: Action[] = clustersToLetGo(observed)
  const times: number[] = []
  for (const [name, lease] of [...leases].toSorted(([a], [b]) => compare(a, b))) {
    const customization = observed.customizations.get(name)
    if (customization === undefined || inUse.has(name)) continue
    switch (lease.state) {
      case 'Free':
        if (!lease.clean) actions.push({ action: 'ReleaseLease', customization, why: whyFree(customization.available) })
        break
      case 'Used':
        if (!lease.written && !lease.cluster.deprovisioned)
          actions.push({
            action: 'HealLease',
            customization,
            cluster: lease.cluster,
            why: `cluster ${lease.cluster.name} uses it, and its lease does not say so`,
          })
        break
      case 'Taken':
        if (lease.abandonedAt <= now.getTime())
          actions.push({
            action: 'ReleaseLease',
            customization,
            why: `it was taken for cluster ${lease.cluster.name}, which was never made and is not wanted any more`,
          })
        else {
          times.push(lease.abandonedAt)
          actions.push({
            action: 'Wait',
            about: name,
            why: `it is taken for cluster ${lease.cluster.name}, which somebody may be making`,
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
        if (lease.freeAt !== undefined) times.push(lease.freeAt)
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
  return { actions, times }
}

/** Seed: the lease is released before the cluster goes. */
const clustersToLetGo = ({ clusters, customizations }: Observed): Action[] =>
  clusters
    .filter(({ deprovisioned }) => deprovisioned)
    .map((cluster) => {
      const leased = customizations.get(cluster.customization ?? '')
      const isItsOwn = leased?.cluster !== undefined && isSame(leased.cluster, cluster)
      return {
        action: 'LetClusterGo',
        cluster,
        customization: isItsOwn ? leased : undefined,
        why: isItsOwn ? `its lease of ${leased.name} is all that is left of it` : 'nothing is left of it',
      }
    })

const whyFree = (available: boolean | undefined): string =>
  available === undefined ? 'nobody said yet that it is available' : 'nobody uses it, and it says otherwise'
