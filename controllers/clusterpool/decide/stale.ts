/** Which unclaimed clusters are outdated: POOL-20, POOL-25, POOL-30. */

import type { Inventory } from '../inventory/inventory.ts'
import type { Cluster } from '../model/cluster.ts'
import { byAge } from '../model/order.ts'
import type { Buckets } from './buckets.ts'

export type Staleness =
  /** It has no record of the pool version that it was made with. */
  | 'UnknownVersion'
  | 'OtherVersion'
  /** Its customization was edited since, or another cluster leases it. */
  | 'OtherCustomization'

/** In this order they are replaced: POOL-30. */
const REPLACEMENT_ORDER: readonly Staleness[] = ['UnknownVersion', 'OtherVersion', 'OtherCustomization']

/** Is it one of the reasons for which clusters are outdated? */
export const isStaleness = (reason: string): boolean => REPLACEMENT_ORDER.some((one) => one === reason)

export interface Stale {
  readonly cluster: Cluster
  readonly staleness: Staleness
}

/** The outdated clusters that are neither claimed nor broken, first to go first. */
export const findStale = (
  { installing, standby, assignable }: Buckets,
  version: string,
  inventory: Inventory | undefined,
  losers: ReadonlySet<Cluster>,
): readonly Stale[] =>
  [...installing, ...standby, ...assignable]
    .flatMap((cluster) => {
      const staleness = stalenessOf(cluster, version, inventory, losers)
      return staleness === undefined ? [] : [{ cluster, staleness }]
    })
    .toSorted(
      (a, b) =>
        REPLACEMENT_ORDER.indexOf(a.staleness) - REPLACEMENT_ORDER.indexOf(b.staleness) || byAge(a.cluster, b.cluster),
    )

const stalenessOf = (
  cluster: Cluster,
  version: string,
  inventory: Inventory | undefined,
  losers: ReadonlySet<Cluster>,
): Staleness | undefined => {
  if (cluster.version === undefined) return 'UnknownVersion'
  if (cluster.version !== version) return 'OtherVersion'
  const entry = cluster.customization === undefined ? undefined : inventory?.[cluster.customization]
  return losers.has(cluster) || entry?.status === 'ToBeUpdated' ? 'OtherCustomization' : undefined
}
