/**
 * Which cluster holds a customization, as far as this pool can tell.
 *
 * One conditional write takes a lease: Available=False with the cluster, whose name is chosen beforehand, and the pool. Only the
 * holder releases it, or any manager after a GET proved that the named cluster is gone and its maker had time enough to make it.
 * POOL-1, POOL-5.
 */
import type { Cluster } from '../model/cluster.ts'
import type { CustomizationState } from '../model/customization-state.ts'
import { isSame, keyOf, type NamespacedName } from '../model/names.ts'
import type { Observed } from '../model/observed.ts'

/** How long a lease may be without its cluster before it counts as left behind, in milliseconds. */
export const LEASE_GRACE_MS = 5 * 60_000

export type Lease =
  /** No cluster holds it. Not clean: what is written on it says otherwise and is wrong. */
  | { readonly state: 'Free'; readonly clean: boolean }
  /** A cluster of this pool uses it. Not written: what is written on it says otherwise and is wrong. */
  | { readonly state: 'Used'; readonly cluster: Cluster; readonly written: boolean }
  /** This pool took it for a cluster that was not made yet. */
  | { readonly state: 'Taken'; readonly cluster: NamespacedName; readonly abandonedAt: number }
  /** This pool took it for a cluster that exists, though it was not seen yet. */
  | { readonly state: 'Unseen'; readonly cluster: NamespacedName }
  /** Another cluster holds it; `freeAt` when that one's cluster is gone. */
  | {
      readonly state: 'Elsewhere'
      readonly cluster: NamespacedName
      readonly pool: NamespacedName | undefined
      readonly freeAt: number | undefined
    }
  /** A cluster of this pool uses it, and another cluster leases it. It must not happen; neither loses what it has. */
  | {
      readonly state: 'Contested'
      readonly cluster: Cluster
      readonly holder: NamespacedName
      readonly pool: NamespacedName | undefined
    }

/** The leases that concern the pool, by the name of the customization: listed, used by its clusters, or taken by it. */
export const findLeases = (observed: Observed, now: Date): ReadonlyMap<string, Lease> => {
  const users = clustersByCustomization(observed.clusters)
  const names = new Set([...listedNames(observed), ...users.keys()])
  for (const { name, pool } of observed.customizations.values())
    if (pool !== undefined && isSame(pool, poolOf(observed))) names.add(name)
  const there = new Set(observed.clusters.map(keyOf))
  return new Map([...names].map((name) => [name, leaseOf(name, { observed, users, there, now })]))
}

/** Clusters that refer to a customization which another cluster of the pool uses: they lost it. */
export const findLosers = (observed: Observed, leases: ReadonlyMap<string, Lease>): ReadonlySet<Cluster> =>
  new Set(
    observed.clusters.filter((cluster) => {
      if (cluster.customization === undefined) return false
      const lease = leases.get(cluster.customization)
      if (lease?.state === 'Contested') return true
      return lease?.state === 'Used' && lease.cluster !== cluster
    }),
  )

/** The names that the pool lists, in its order. */
export const listedNames = ({ pool }: Observed): readonly string[] =>
  pool.spec.inventory?.ClusterDeploymentCustomizations.map(({ name }) => name) ?? []

export const poolOf = ({ pool, namespace }: Observed): NamespacedName => ({ namespace, name: pool.metadata.name })

interface LeaseInput {
  readonly observed: Observed
  readonly users: ReadonlyMap<string, readonly Cluster[]>
  /** The clusters of the pool, by their keys. */
  readonly there: ReadonlySet<string>
  readonly now: Date
}

const leaseOf = (name: string, input: LeaseInput): Lease => {
  const { observed, users } = input
  const customization = observed.customizations.get(name)
  const using = users.get(name) ?? []
  const named = customization?.cluster
  const user = using.find((cluster) => named !== undefined && isSame(cluster, named)) ?? using[0]
  const holder = customization === undefined ? undefined : holderOf(customization, input)
  if (user === undefined)
    return holder ?? { state: 'Free', clean: customization === undefined || isMarkedFree(customization) }
  if (holder?.state === 'Elsewhere')
    return { state: 'Contested', cluster: user, holder: holder.cluster, pool: holder.pool }
  return {
    state: 'Used',
    cluster: user,
    written: customization === undefined || isMarkedUsed(customization, user, observed),
  }
}

/** The cluster that the customization names, unless it is known to be gone; undefined when it names none. Clusters of the pool that use it are another matter. */
const holderOf = (
  { cluster, pool, available, since }: CustomizationState,
  { observed, there, now }: LeaseInput,
): Lease | undefined => {
  if (cluster === undefined) return undefined
  // It exists and uses another customization, or none: no manager can be about to create it.
  if (there.has(keyOf(cluster))) return undefined
  const isGone = observed.absent.has(keyOf(cluster))
  // The write that takes a lease says both. A name on one that is available was left behind (POOL-5).
  if (isGone && available !== false) return undefined
  const abandonedAt = (since ?? 0) + LEASE_GRACE_MS
  if (pool !== undefined && isSame(pool, poolOf(observed)))
    return isGone ? { state: 'Taken', cluster, abandonedAt } : { state: 'Unseen', cluster }
  if (isGone && now.getTime() >= abandonedAt) return undefined
  return { state: 'Elsewhere', cluster, pool, freeAt: isGone ? abandonedAt : undefined }
}

const isMarkedFree = ({ cluster, pool, available, protected: isProtected }: CustomizationState): boolean =>
  available === true && cluster === undefined && pool === undefined && !isProtected

const isMarkedUsed = (customization: CustomizationState, user: Cluster, observed: Observed): boolean => {
  const { cluster, pool, available, deleting } = customization
  const saysSo =
    available === false &&
    cluster !== undefined &&
    isSame(cluster, user) &&
    pool !== undefined &&
    isSame(pool, poolOf(observed))
  // No finalizer can be added to what is being deleted.
  return saysSo && (customization.protected || deleting)
}

/** The clusters that refer to each customization, oldest first. One that nothing but its lease holds comes last. */
const clustersByCustomization = (clusters: readonly Cluster[]): ReadonlyMap<string, readonly Cluster[]> => {
  const users = new Map<string, Cluster[]>()
  for (const cluster of clusters.toSorted((a, b) => Number(a.deprovisioned) - Number(b.deprovisioned))) {
    if (cluster.customization === undefined) continue
    const others = users.get(cluster.customization)
    if (others === undefined) users.set(cluster.customization, [cluster])
    else others.push(cluster)
  }
  return users
}
