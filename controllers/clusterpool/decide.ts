/**
 * What a pool does next: observed → plan → executed elsewhere. The plan is data, every part of it a decision of its own:
 *
 *   leases ─► renderings ─► inventory ─► candidates ─┐
 *   buckets ─► claims ─► stale ───────────────────── sizing ─► power ─► conditions
 *
 * Design page 40, Pool passes; anchors hive-clusterpool section 2.
 */

import { poolVersion } from './cluster/pool-version.ts'
import { initialConditions, poolConditions } from './conditions.ts'
import { bindingActions } from './decide/admin-bindings.ts'
import { type Buckets, bucketsOf, resumesUntil } from './decide/buckets.ts'
import { assign, claiming, queue } from './decide/claims.ts'
import { countsOf } from './decide/counts.ts'
import { planTeardown } from './decide/deletion.ts'
import { whyNot } from './decide/explain-waits.ts'
import { namespaceCare } from './decide/namespaces.ts'
import { type PowerChange, powerChanges, powerOf } from './decide/power.ts'
import { type Deletion, type Sizes, type Sizing, sizing } from './decide/sizing.ts'
import { isStaleness, staleOf } from './decide/stale.ts'
import { supplyOf } from './decide/supply.ts'
import { coolsOffUntil } from './inventory/attempts.ts'
import { type Candidate, namer } from './inventory/candidates.ts'
import type { Inventory } from './inventory/inventory.ts'
import { type Summary, summaryOf } from './inventory/summary.ts'
import { leasesOf, losersOf, poolOf } from './lease/lease.ts'
import { leaseCare } from './lease/lease-actions.ts'
import type { Cluster, Observed, PowerState } from './model/observed.ts'
import type { Action, Plan } from './model/plan.ts'
import { firstStatus, statusWrite } from './status.ts'

export interface Pass {
  readonly now: Date
  /** A few random characters for the name of a cluster; others at every call. */
  readonly suffix: () => string
}

/** Decides what a pool does next. Nothing is read or written here; the same input gives the same plan. */
export const planPool = (observed: Observed, { now, suffix }: Pass): Plan => {
  const { pool } = observed
  if (pool.metadata.deletionTimestamp !== undefined) return planTeardown(observed, now)
  if (pool.status?.conditions === undefined)
    return {
      pool: poolOf(observed),
      actions: firstStatus(observed, initialConditions(pool.metadata.generation), now),
      lookAgainAt: undefined,
      counts: countsOf(observed, bucketsOf(observed, now), { stale: 0, waiting: 0 }),
    }

  const version = poolVersion(pool.spec)
  const found = bucketsOf(observed, now)
  const claims = claiming(observed, found.assignable)
  const buckets = afterClaims(found, new Set(claims.assignments.map(({ cluster }) => cluster)))
  const missing = missingOf(observed)

  const leases = leasesOf(observed, now)
  const supply = supplyOf(observed, leases, version, missing, namer(observed, suffix), now)
  const { inventory } = supply
  const losers = losersOf(observed, leases)
  const stale = staleOf(buckets, version, inventory, losers)
  const sizes: Sizes = {
    spec: pool.spec,
    buckets,
    unseen: [...leases.values()].filter(({ state }) => state === 'Unseen').length,
    waiting: claims.waiting.length,
    free: supply.free,
    returning: supply.returning(buckets),
    removed: pool.spec.inventory === undefined ? [] : removedOf(buckets, inventory),
    stale,
    uncounted: uncountedOf(observed, buckets, inventory),
    isUnproven: isUnproven(buckets, version, inventory),
    isReplaceable: (cluster) => losers.has(cluster) || supply.replaces(cluster),
  }
  const size = sizing(sizes)
  const created = Array.from({ length: size.add }, (_, index) => supply.candidate(index)).filter(
    (one) => one !== undefined,
  )
  const staying = stayingOf(buckets, size)
  const care = leaseCare(
    observed,
    leases,
    new Set(created.flatMap(({ customization }) => customization?.name ?? [])),
    now,
  )
  const namespaces = namespaceCare(observed, now)
  const summary = pool.spec.inventory === undefined ? undefined : summarize(inventory ?? {}, pool.spec.size, buckets)
  const conditions = poolConditions({
    generation: pool.metadata.generation,
    spec: pool.spec,
    buckets,
    waiting: claims.waiting.length,
    sizing: size,
    stale,
    missing,
    refusal: supply.refusal,
    summary,
    returning: sizes.returning,
  })

  const actions: readonly Action[] = [
    ...statusWrite(observed, { buckets, poolVersion: version, inventory, summary, conditions }, now),
    ...care.actions,
    ...assign(claims.assignments, claims.conflicts),
    ...size.delete.map(
      ({ cluster, reason }): Action => ({
        action: 'DeleteCluster',
        cluster,
        isStale: isStaleness(reason),
        why: DELETED[reason],
      }),
    ),
    ...creations(created, version, size.missing, (index) =>
      powerOf(staying.length + index, pool.spec, claims.waiting.length),
    ),
    ...powerActions(powerChanges(staying, pool.spec, claims.waiting.length)),
    ...queue(
      claims.waiting,
      (place) => `no cluster is ready: place ${place} in the queue of pool ${pool.metadata.name}`,
    ),
    ...bindingActions(observed),
    ...namespaces.actions,
    ...whyNot(sizes, size, missing, supply.refusal),
  ]
  return {
    pool: poolOf(observed),
    actions,
    lookAgainAt: nextLook(observed, inventory, [...care.times, ...namespaces.times, supply.triedAgainAt ?? PAST], now),
    counts: countsOf(observed, buckets, { stale: stale.length, waiting: claims.waiting.length }),
  }
}

const DELETED: Readonly<Record<Deletion, string>> = {
  Marked: 'its claim is done with it',
  Broken: 'it will never be usable',
  RemovedFromInventory: 'its customization was removed from the inventory',
  Surplus: 'there are more clusters than wanted',
  UnknownVersion: 'nobody wrote down which pool version it was made with',
  OtherVersion: 'it was made with another pool version',
  OtherCustomization: 'its customization was edited, or is leased by another cluster',
}

/** @param powerAt The power state of the n-th new cluster, counted from 0: the newest ones of the pool. */
const creations = (
  candidates: readonly Candidate[],
  poolVersion: string,
  missing: number,
  powerAt: (index: number) => PowerState,
): readonly Action[] =>
  candidates.map((candidate, index) => ({
    action: 'CreateCluster',
    ...candidate,
    documents: { ...candidate.documents, spec: { ...candidate.documents.spec, powerState: powerAt(index) } },
    poolVersion,
    why: candidate.lease === 'held' ? 'its lease was taken, and it was not made yet' : `missing clusters: ${missing}`,
  }))

const powerActions = (changes: readonly PowerChange[]): readonly Action[] =>
  changes.map(({ cluster, power }) => ({
    action: 'SetPower',
    cluster,
    power,
    why: power === 'Running' ? 'it is among those that should run' : 'enough others run',
  }))

/** Clusters that this pass gives to claims are claimed for all that follows. */
const afterClaims = (buckets: Buckets, taken: ReadonlySet<Cluster>): Buckets => {
  const rest = (clusters: readonly Cluster[]) => clusters.filter((cluster) => !taken.has(cluster))
  const known = new Set(buckets.claimed)
  return {
    ...buckets,
    broken: rest(buckets.broken),
    assignable: rest(buckets.assignable),
    standby: rest(buckets.standby),
    installing: rest(buckets.installing),
    claimed: [...buckets.claimed, ...[...taken].filter((cluster) => !known.has(cluster))],
  }
}

const missingOf = ({ missing, pool, customizations }: Observed): readonly string[] => {
  const name = pool.spec.customizationRef?.name
  return name === undefined || customizations.has(name) ? missing : [...missing, `customization of the pool: ${name}`]
}

/** Seed: "If an unclaimed CD exists with that name, we update the entry status to To Be Deleted, delete the CD". */
const removedOf = (
  { installing, standby, assignable }: Buckets,
  inventory: Inventory | undefined,
): readonly Cluster[] =>
  [...installing, ...standby, ...assignable].filter(
    ({ customization }) => customization !== undefined && inventory?.[customization]?.status === 'ToBeDeleted',
  )

/** A cluster that failed stays until its failure stands in the status: a crash in between must not lose the count. */
const uncountedOf = ({ pool }: Observed, { broken }: Buckets, inventory: Inventory | undefined): ReadonlySet<Cluster> =>
  new Set(
    broken.filter(({ uid, customization = '' }) => {
      const written = pool.status?.inventory?.[customization]?.failure?.uid
      return inventory?.[customization]?.failure?.uid === uid && written !== uid
    }),
  )

/** Clusters failed with two customizations or more, and none of this pool version was ever installed: it may be the version. */
const isUnproven = (buckets: Buckets, version: string, inventory: Inventory | undefined): boolean => {
  const installed = [...buckets.standby, ...buckets.assignable, ...buckets.claimed]
  if (installed.some((cluster) => cluster.version === version)) return false
  return Object.values(inventory ?? {}).filter(({ failure }) => failure !== undefined).length > 1
}

const stayingOf = ({ installing, standby, assignable }: Buckets, { delete: deletions }: Sizing): readonly Cluster[] => {
  const going = new Set(deletions.map(({ cluster }) => cluster))
  return [...installing, ...standby, ...assignable].filter((cluster) => !going.has(cluster))
}

const summarize = (inventory: Inventory, size: number, { claimed }: Buckets): Summary => {
  const held = claimed.filter(({ customization }) => {
    const status = inventory[customization ?? '']?.status
    return status === 'Reserved' || status === 'ToBeUpdated'
  })
  return summaryOf(inventory, size, held.length)
}

/** A moment that is never looked forward to. */
const PAST = Number.NEGATIVE_INFINITY

const nextLook = (
  { pool, clusters }: Observed,
  inventory: Inventory | undefined,
  times: readonly number[],
  now: Date,
): Date | undefined => {
  const pauses = Object.values(inventory ?? {}).map((entry) => coolsOffUntil(entry, now) ?? PAST)
  // A cluster is broken when its time is over, not at its last moment.
  const resumes = clusters.map((cluster) => (resumesUntil(cluster, pool.spec) ?? PAST) + 1)
  const future = [...times, ...pauses, ...resumes].filter((time) => time > now.getTime())
  return future.length === 0 ? undefined : new Date(Math.min(...future))
}
