/**
 * How many clusters to make and which to delete. POOL-26 to POOL-31.
 */
import type { ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { Cluster } from '../model/cluster.ts'
import { byNewest } from '../model/order.ts'
import type { Buckets } from './buckets.ts'
import type { Stale, Staleness } from './stale.ts'

export interface SizingInput {
  readonly spec: Pick<ClusterPoolSpec, 'size' | 'maxSize' | 'maxConcurrent' | 'staleReplacement'>
  readonly buckets: Buckets
  /** Leases of clusters that exist and were not seen yet: they count as installing. */
  readonly unseen: number
  /** Claims that wait for a cluster. */
  readonly waiting: number
  /** How many clusters could be made now; without inventory any number. */
  readonly free: number
  /** How many more could be made once deletions are through and pauses over. */
  readonly returning: number
  /** Unclaimed clusters whose entry was removed from the inventory. */
  readonly removed: readonly Cluster[]
  /** Unclaimed clusters whose customization is cordoned and drained. */
  readonly drained: readonly Cluster[]
  readonly stale: readonly Stale[]
  /** Clusters that failed and whose failure is not written down yet: they stay until it is. */
  readonly uncounted: ReadonlySet<Cluster>
  /** Clusters that are not installed and whose customization another cluster leases: they never will be (POOL-49). */
  readonly losers: readonly Cluster[]
  /** Does its deletion wait for a person? */
  readonly isHeld: (cluster: Cluster) => boolean
  /** Of the first so many clusters that would be made, how many could not be made before. */
  readonly countFailing: (creations: number) => number
  /** Clusters failed and none of the present version was ever installed: replacing more would only lose more. */
  readonly isUnproven: boolean
  /** Could a cluster be made in its place? One that can't be replaced is better than none. */
  readonly isReplaceable: (cluster: Cluster) => boolean
}

export type Deletion = Staleness | 'Marked' | 'LeaseLost' | 'Broken' | 'RemovedFromInventory' | 'Drained' | 'Surplus'

export interface Sizing {
  readonly add: number
  readonly delete: readonly { readonly cluster: Cluster; readonly reason: Deletion }[]
  /** How many clusters are missing, pending claims included; negative when there are too many. */
  readonly missing: number
  /** How many more maxSize allows; negative after it was lowered. */
  readonly capacity: number
  /** How many more installations and deletions maxConcurrent allows. */
  readonly concurrent: number
}

/** Decides on the size. Marked clusters go first, then clusters are added, then broken, surplus and outdated ones go. */
export const decideSize = (sizes: SizingInput): Sizing => {
  const { buckets, free } = sizes
  const { capacity, concurrent, missing } = sizeLimits(sizes)
  const deletions: Sizing['delete'][number][] = []
  let left = concurrent
  const installing = new Set(buckets.installing)
  const remove = (clusters: readonly Cluster[], reason: Deletion) => {
    for (const cluster of clusters) {
      // One that is being installed has a place already, and keeps it while it is being deleted. 0 stops both (POOL-28).
      const takesPlace = !installing.has(cluster)
      if (takesPlace ? left <= 0 : sizes.spec.maxConcurrent === 0) continue
      if (takesPlace) left -= 1
      deletions.push({ cluster, reason })
    }
  }

  remove(
    buckets.marked.filter((cluster) => !sizes.isHeld(cluster)),
    'Marked',
  )
  remove(sizes.losers, 'LeaseLost')
  // POOL-70: the next one would be refused like this one.
  const isQuotaExceeded = buckets.installing.some(({ quota }) => quota !== undefined)
  const add = isQuotaExceeded ? 0 : Math.max(0, Math.min(missing, capacity, left, free))
  left -= add
  // Waiting claims are served before anything is tidied up (POOL-26); clusters that can't be made keep nothing waiting (POOL-47).
  const failing = sizes.countFailing(add)
  if (add === failing) {
    const going = new Set([...buckets.broken, ...sizes.removed, ...sizes.drained, ...sizes.losers])
    remove(
      buckets.broken.filter((cluster) => !sizes.uncounted.has(cluster) && !sizes.isHeld(cluster)),
      'Broken',
    )
    remove(sizes.removed, 'RemovedFromInventory')
    remove(sizes.drained, 'Drained')
    remove(findSurplus(buckets, going, -missing), 'Surplus')
    if (failing === 0)
      for (const { cluster, staleness } of findReplaceable(sizes, missing, going)) remove([cluster], staleness)
  }
  return { add, delete: deletions, missing, capacity, concurrent }
}

/** How many clusters are missing, and what the limits leave room for. */
export const sizeLimits = ({
  spec,
  buckets,
  unseen,
  waiting,
}: Pick<SizingInput, 'spec' | 'buckets' | 'unseen' | 'waiting'>) => {
  const { deleting, marked, claimed, broken, assignable, standby, installing } = buckets
  const unclaimed = broken.length + assignable.length + standby.length + installing.length + unseen
  const all = unclaimed + deleting.length + marked.length + claimed.length
  const busy = installing.length + unseen + deleting.length
  return {
    missing: spec.size + waiting - unclaimed,
    capacity: (spec.maxSize ?? Number.POSITIVE_INFINITY) - all,
    concurrent: Math.max(0, (spec.maxConcurrent ?? Number.POSITIVE_INFINITY) - busy),
  }
}

/** The newest that are being installed, then the oldest that hibernate, then the oldest that run: POOL-29. */
const findSurplus = (buckets: Buckets, going: ReadonlySet<Cluster>, tooMany: number): readonly Cluster[] => {
  const stays = (cluster: Cluster) => !going.has(cluster)
  const order = [...buckets.installing.toSorted(byNewest), ...buckets.standby, ...buckets.assignable]
  return order.filter(stays).slice(0, Math.max(0, tooMany - going.size))
}

/**
 * The outdated clusters that may be replaced now. Each replacement takes a place until the new cluster is installed; clusters that
 * can't be made for want of customizations or capacity take none, or nothing would ever be replaced (POOL-31). Those that are not
 * installed go first and all at once: they serve no claim, and would hold the places of the others (POOL-30).
 */
const findReplaceable = (sizes: SizingInput, missing: number, going: ReadonlySet<Cluster>): readonly Stale[] => {
  const { buckets, spec, free, returning, unseen } = sizes
  if (missing < 0 || going.size > 0 || sizes.isUnproven) return []
  const replaceable = sizes.stale.filter(({ cluster }) => sizes.isReplaceable(cluster))
  const uninstalled = replaceable.filter(({ cluster }) => !cluster.installed)
  if (uninstalled.length > 0) return uninstalled
  const { capacity } = sizeLimits(sizes)
  const room = capacity + buckets.deleting.length + buckets.marked.length
  const coming = Math.max(0, Math.min(missing, free + returning, room))
  const places = spec.staleReplacement.maxConcurrent - coming - buckets.installing.length - unseen
  return replaceable.slice(0, Math.max(0, places))
}
