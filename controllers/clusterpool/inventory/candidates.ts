/** Which customizations the next clusters would lease, each with the cluster that it would make. */

import { type Customization, CustomizationError } from '#apis/hive.openshift.io/model/customization.ts'
import { buildClusterName } from '../cluster/cluster-name.ts'
import { type ClusterDocuments, renderCluster } from '../cluster/render.ts'
import { type Lease, listedNames, poolOf } from '../lease/lease.ts'
import type { CustomizationState } from '../model/customization-state.ts'
import { keyOf, type NamespacedName } from '../model/names.ts'
import type { Observed } from '../model/observed.ts'
import { creationFailureOf, restEnd } from '../observe/creation-failures.ts'
import { coolOffEnd } from './attempts.ts'
import type { Inventory } from './inventory.ts'

/** A cluster that could be made. */
export interface Candidate {
  readonly cluster: NamespacedName
  /** What it leases; undefined in a pool without inventory. */
  readonly customization: CustomizationState | undefined
  /** Held: the lease was taken in an earlier pass, for a cluster of this name. */
  readonly lease: 'take' | 'held' | 'none'
  readonly documents: ClusterDocuments
}

/** Gives names that no cluster and no lease of the pool has. */
export type NameGenerator = () => NamespacedName

/** @param suffix A few random characters, fit for a name; another one at every call. */
export const createNameGenerator = (observed: Observed, suffix: () => string): NameGenerator => {
  const used = new Set(observed.clusters.map(keyOf))
  for (const { cluster } of observed.customizations.values()) if (cluster !== undefined) used.add(keyOf(cluster))
  const next = (): NamespacedName => {
    const name = buildClusterName(observed.pool.metadata.name, suffix())
    const cluster = { namespace: name, name }
    if (used.has(keyOf(cluster))) return next()
    used.add(keyOf(cluster))
    return cluster
  }
  return next
}

/** The rendered clusters of all unused customizations. */
export interface RenderedCandidates {
  readonly rendered: ReadonlyMap<string, Candidate>
  /** Why one can't be rendered, by its name: it is noted, and the next one is used (POOL-10). */
  readonly problems: ReadonlyMap<string, string>
  /** Until when one is not leased because its last cluster could not be made, by its name; milliseconds since the epoch (POOL-47). */
  readonly resting: ReadonlyMap<string, number>
}

/** Renders all listed customizations that are free or taken for a cluster that was not made yet. */
export const renderCandidates = (
  observed: Observed,
  leases: ReadonlyMap<string, Lease>,
  name: NameGenerator,
  now: Date,
): RenderedCandidates => {
  const resting = new Map<string, number>()
  const rendered = new Map<string, Candidate>()
  const problems = new Map<string, string>()
  for (const listed of listedNames(observed)) {
    const lease = leases.get(listed)
    const customization = observed.customizations.get(listed)
    if (customization === undefined || customization.deleting || customization.restoring) continue
    // POOL-55
    if (customization.cordoned !== undefined) continue
    if (lease?.state !== 'Free' && lease?.state !== 'Taken') continue
    const failure = creationFailureOf(customization, observed)
    if (failure !== undefined && lease.state === 'Free' && restEnd(failure) > now.getTime()) {
      resting.set(listed, restEnd(failure))
      continue
    }
    // The lease is given back, whatever kept its cluster from being made, and whether or not that is known: another pool may get on.
    if (lease.state === 'Taken' && lease.abandonedAt <= now.getTime()) continue
    const refused = observed.rejectedCustomizations.get(listed)
    if (refused?.version === customization.version) {
      problems.set(listed, `the API server refuses its cluster: ${refused.message}`)
      continue
    }
    const held = lease.state === 'Taken'
    const result = render(observed, held ? lease.cluster : name(), customization.patches)
    if (typeof result === 'string') problems.set(listed, result)
    else rendered.set(listed, { ...result, customization, lease: held ? 'held' : 'take' })
  }
  return { rendered, problems, resting }
}

/**
 * The candidates in the order in which they are used: clusters begun in an earlier pass, then those that never failed, then
 * those that did; each in the order of the list. POOL-3.
 */
export const sortCandidates = (
  observed: Observed,
  { rendered }: RenderedCandidates,
  inventory: Inventory | undefined,
  now: Date,
): readonly Candidate[] => {
  const usable = [...rendered].filter(([name]) => {
    const entry = inventory?.[name]
    return entry !== undefined && isUsable(entry.status) && coolOffEnd(entry, now) === undefined
  })
  const rank = ([name, { lease }]: readonly [string, Candidate]) =>
    lease === 'held' ? 0 : 1 + Number(inventory?.[name]?.failure !== undefined)
  const order = new Map(listedNames(observed).map((name, index) => [name, index]))
  return usable
    .toSorted((a, b) => rank(a) - rank(b) || (order.get(a[0]) ?? 0) - (order.get(b[0]) ?? 0))
    .map(([, candidate]) => candidate)
}

const isUsable = (status: string): boolean => status === 'Available' || status === 'Reserved'

/** A cluster without a lease, for a pool without inventory; a text says why there can't be one. */
export const renderWithoutLease = (observed: Observed, cluster: NamespacedName): Candidate | string => {
  const result = render(observed, cluster, undefined)
  return typeof result === 'string' ? result : { ...result, customization: undefined, lease: 'none' }
}

/** One cluster; a text says why there can't be one. @param leased What it leases; undefined in a pool without inventory. */
export const render = (
  observed: Observed,
  cluster: NamespacedName,
  leased: Customization | undefined,
): Pick<Candidate, 'cluster' | 'documents'> | string => {
  const { pool, template } = observed
  const shared = observed.customizations.get(pool.spec.customizationRef?.name ?? '')?.patches
  const recipe = { pool: poolOf(observed), poolSpec: pool.spec, template, name: cluster.name, shared, leased }
  try {
    return { cluster, documents: renderCluster(recipe) }
  } catch (error) {
    // The entry that says so has the name already.
    if (error instanceof CustomizationError) return error.message.replace(`${leased?.name}: `, '')
    throw error
  }
}
