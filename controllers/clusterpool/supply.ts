/** What new clusters can be made of. */
import { coolsOffUntil } from './attempts.ts'
import type { Buckets } from './buckets.ts'
import { type Candidate, candidatesOf, type Namer, render, renderAll, unleased } from './candidates.ts'
import { type Inventory, nextInventory } from './inventory.ts'
import type { Lease } from './lease.ts'
import type { Cluster, Observed } from './observed.ts'

export interface Supply {
  readonly inventory: Inventory | undefined
  /** How many clusters could be made now; without inventory any number. */
  readonly free: number
  /** The n-th cluster that would be made, counted from 0. */
  readonly candidate: (index: number) => Candidate | undefined
  /** How many more could be made once deletions are through and pauses over. */
  readonly returning: (buckets: Buckets) => number
  /** Could a cluster be made in the place of this one, with what it leaves behind or with what is free? */
  readonly replaces: (cluster: Cluster) => boolean
  /** Why no cluster at all can be made; undefined when that is a matter of single customizations. */
  readonly refusal: string | undefined
}

/** Renders what could be made now, and says what each customization is to the pool. */
export const supplyOf = (
  observed: Observed,
  leases: ReadonlyMap<string, Lease>,
  version: string,
  missing: readonly string[],
  name: Namer,
  now: Date,
): Supply => {
  const renderings = renderAll(observed, leases, name)
  const inventory = nextInventory(observed, { poolVersion: version, leases, refusals: renderings.refusals }, now)
  if (observed.pool.spec.inventory === undefined) {
    const first = unleased(observed, name())
    const refusal = typeof first === 'string' ? first : undefined
    return {
      inventory,
      free: refusal === undefined && missing.length === 0 ? Number.POSITIVE_INFINITY : 0,
      candidate: () => {
        const next = unleased(observed, name())
        return typeof next === 'string' ? undefined : next
      },
      returning: () => 0,
      replaces: () => refusal === undefined && missing.length === 0,
      refusal,
    }
  }
  const candidates = candidatesOf(observed, renderings, inventory, now)
  const entries = Object.values(inventory ?? {})
  const cooling = entries.filter(
    (entry) => entry.status === 'Available' && coolsOffUntil(entry, now) !== undefined,
  ).length
  return {
    inventory,
    free: missing.length === 0 ? candidates.length : 0,
    candidate: (index) => candidates[index],
    returning: ({ deleting, marked }) => {
      const going = [...deleting, ...marked].map(({ customization }) => inventory?.[customization ?? '']?.status)
      return cooling + going.filter((status) => status === 'Reserved' || status === 'ToBeUpdated').length
    },
    replaces: (cluster) => missing.length === 0 && (candidates.length > 0 || canBeUsedAgain(cluster, observed)),
    refusal: undefined,
  }
}

/** Can the customization of a cluster be applied as it and the pool are now? */
const canBeUsedAgain = (cluster: Cluster, observed: Observed): boolean => {
  const customization = observed.customizations.get(cluster.customization ?? '')
  if (customization === undefined || customization.deleting) return false
  return typeof render(observed, cluster, customization.patches) !== 'string'
}
