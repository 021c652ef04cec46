/** What new clusters can be made of. */
import { coolOffEnd } from '../inventory/attempts.ts'
import {
  type Candidate,
  type NameGenerator,
  render,
  renderCandidates,
  renderWithoutLease,
  sortCandidates,
} from '../inventory/candidates.ts'
import { buildInventory, type Inventory } from '../inventory/inventory.ts'
import type { Lease } from '../lease/lease.ts'
import type { Cluster } from '../model/cluster.ts'
import { keyOf } from '../model/names.ts'
import type { Observed } from '../model/observed.ts'
import { activeRejection } from '../observe/rejections.ts'
import type { Buckets } from './buckets.ts'

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
  readonly blockedReason: string | undefined
  /** When customizations whose clusters could not be made are leased again, in milliseconds since the epoch. */
  readonly restTimes: readonly number[]
  /** When one is tried again though the API server refused the last one, in milliseconds since the epoch. */
  readonly retryAt: number | undefined
}

/** Renders what could be made now, and says what each customization is to the pool. */
export const computeSupply = (
  observed: Observed,
  leases: ReadonlyMap<string, Lease>,
  version: string,
  missing: readonly string[],
  name: NameGenerator,
  now: Date,
): Supply => {
  const renderings = renderCandidates(observed, leases, name, now)
  const inventory = buildInventory(observed, { poolVersion: version, leases, problems: renderings.problems }, now)
  if (observed.pool.spec.inventory === undefined) {
    const first = renderWithoutLease(observed, name())
    const refused = activeRejection(observed)
    const blockedReason =
      typeof first === 'string' ? first : refused && `the API server refuses its clusters: ${refused.message}`
    const isDue = typeof first !== 'string' && refused !== undefined && refused.until <= now.getTime()
    const there = new Set(observed.clusters.map(keyOf))
    const begun = observed.unfinishedClusters.filter((cluster) => !there.has(keyOf(cluster)))
    return {
      inventory,
      free: missing.length > 0 ? 0 : blockedReason === undefined ? Number.POSITIVE_INFINITY : Number(isDue),
      candidate: (index) => {
        const next = renderWithoutLease(observed, begun[index] ?? name())
        return typeof next === 'string' ? undefined : next
      },
      returning: () => 0,
      replaces: () => blockedReason === undefined && missing.length === 0,
      blockedReason,
      restTimes: [],
      retryAt: refused?.until,
    }
  }
  const candidates = sortCandidates(observed, renderings, inventory, now)
  const entries = Object.values(inventory ?? {})
  const restTimes = [...renderings.resting.values()]
  const cooling =
    restTimes.length +
    entries.filter((entry) => entry.status === 'Available' && coolOffEnd(entry, now) !== undefined).length
  return {
    inventory,
    free: missing.length === 0 ? candidates.length : 0,
    candidate: (index) => candidates[index],
    returning: ({ deleting, marked }) => {
      const going = [...deleting, ...marked].map(({ customization }) => inventory?.[customization ?? '']?.status)
      return cooling + going.filter((status) => status === 'Reserved' || status === 'ToBeUpdated').length
    },
    replaces: (cluster) => missing.length === 0 && (candidates.length > 0 || canBeUsedAgain(cluster, observed)),
    blockedReason: undefined,
    restTimes,
    retryAt: undefined,
  }
}

/** Can the customization of a cluster be applied as it and the pool are now? */
const canBeUsedAgain = (cluster: Cluster, observed: Observed): boolean => {
  const customization = observed.customizations.get(cluster.customization ?? '')
  if (customization === undefined || customization.deleting) return false
  return typeof render(observed, cluster, customization.patches) !== 'string'
}
