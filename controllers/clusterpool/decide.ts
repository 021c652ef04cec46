/**
 * What a pool does next: observed → plan → executed elsewhere. The plan is data, every part of it a decision of its own:
 *
 *   leases ─► renderings ─► inventory ─► candidates ─┐
 *   buckets ─► claims ─► stale ───────────────────── sizing ─► power ─► conditions
 *
 * The rules: docs/spec/clusterpool.md.
 */

import { computePoolVersion } from './cluster/pool-version.ts'
import { initialConditions, poolConditions } from './conditions.ts'
import { bindingActions } from './decide/bindings.ts'
import { type Buckets, claimGoneAt, resumeDeadline, sortIntoBuckets } from './decide/buckets.ts'
import { claimActions, planClaims, queueActions } from './decide/claims.ts'
import { countClusters } from './decide/counts.ts'
import { decideDeletion } from './decide/deletion.ts'
import { explainWaits } from './decide/explain-waits.ts'
import { describeHeld, heldWaits, isHeld } from './decide/inferred-deletions.ts'
import { namespaceActions } from './decide/namespaces.ts'
import { type PowerChange, powerChanges, powerOf } from './decide/power.ts'
import { decideRestore } from './decide/restore.ts'
import { type Deletion, decideSize, type Sizing, type SizingInput } from './decide/sizing.ts'
import { findStale, isStaleness } from './decide/stale.ts'
import { computeSupply } from './decide/supply.ts'
import { coolOffEnd } from './inventory/attempts.ts'
import { type Candidate, createNameGenerator } from './inventory/candidates.ts'
import type { Inventory } from './inventory/inventory.ts'
import { type Summary, summarizeEntries } from './inventory/summary.ts'
import { findLeases, findLosers, poolOf } from './lease/lease.ts'
import { leaseActions } from './lease/lease-actions.ts'
import type { Cluster, PowerState } from './model/cluster.ts'
import { isRestoring } from './model/metadata.ts'
import type { Observed } from './model/observed.ts'
import { compareText } from './model/order.ts'
import type { Action, Plan } from './model/plan.ts'
import { WITHOUT_CUSTOMIZATION } from './observe/creation-failures.ts'
import { initialStatusActions, statusActions } from './status.ts'

export interface DecideInput {
  readonly now: Date
  /** A few random characters for the name of a cluster; others at every call. */
  readonly suffix: () => string
}

/** Decides what a pool does next. Nothing is read or written here; the same input gives the same plan. */
export const decide = (observed: Observed, { now, suffix }: DecideInput): Plan => {
  const { pool } = observed
  if (isRestoring(pool.metadata)) return decideRestore(observed, now)
  if (pool.metadata.deletionTimestamp !== undefined) return decideDeletion(observed, now)
  if (pool.status?.conditions === undefined) return initialPlan(observed, now)

  const version = computePoolVersion(pool.spec)
  const sorted = sortIntoBuckets(observed, now)
  const claims = planClaims(observed, sorted.assignable)
  const buckets = afterClaims(sorted, new Set(claims.assignments.map(({ cluster }) => cluster)))
  const missing = findMissing(observed)

  const leases = findLeases(observed, now)
  const supply = computeSupply(observed, leases, version, missing, createNameGenerator(observed, suffix), now)
  const { inventory } = supply
  const losers = findLosers(observed, leases)
  const stale = findStale(buckets, version, inventory, losers)
  const sizes: SizingInput = {
    spec: pool.spec,
    buckets,
    unseen: [...leases.values()].filter(({ state }) => state === 'Unseen').length,
    waiting: claims.waiting.length,
    free: supply.free,
    returning: supply.returning(buckets),
    removed: pool.spec.inventory === undefined ? [] : findRemoved(buckets, inventory),
    drained: pool.spec.inventory === undefined ? [] : findDrained(observed, buckets, inventory),
    stale,
    uncounted: findUncounted(observed, buckets, inventory),
    losers: buckets.installing.filter((cluster) => losers.has(cluster)),
    isHeld: (cluster) => isHeld(observed, cluster),
    countFailing: (creations) => countFailing(observed, supply.candidate, creations),
    isUnproven: isUnproven(buckets, version, inventory),
    isReplaceable: (cluster) => losers.has(cluster) || supply.replaces(cluster),
  }
  const size = decideSize(sizes)
  const created = Array.from({ length: size.add }, (_, index) => supply.candidate(index)).filter(
    (one) => one !== undefined,
  )
  const staying = findStaying(buckets, size)
  const leaseWork = leaseActions(
    observed,
    leases,
    new Set(created.flatMap(({ customization }) => customization?.name ?? [])),
    now,
  )
  const namespaces = namespaceActions(observed, now)
  const summary =
    pool.spec.inventory === undefined ? undefined : summarizeInventory(inventory ?? {}, pool.spec.size, buckets)
  const conditions = poolConditions({
    generation: pool.metadata.generation,
    spec: pool.spec,
    buckets,
    waiting: claims.waiting.length,
    sizing: size,
    stale,
    missing,
    imageSet: observed.imageSet,
    blockedReason: supply.blockedReason,
    creationProblem: describeCreationProblem(observed),
    held: observed.heldDeletions && describeHeld(observed.heldDeletions),
    summary,
    returning: sizes.returning,
  })

  const actions: readonly Action[] = [
    ...statusActions(observed, { buckets, poolVersion: version, inventory, summary, conditions }, now),
    ...leaseWork.actions,
    ...claimActions(claims.assignments, claims.conflicts),
    ...deletionActions(size),
    ...creationActions(created, version, size.missing, (index) =>
      powerOf(staying.length + index, pool.spec, claims.waiting.length),
    ),
    ...powerActions(powerChanges(staying, pool.spec, claims.waiting.length)),
    ...queueActions(
      claims.waiting,
      (place) => `no cluster is ready: place ${place} in the queue of pool ${pool.metadata.name}`,
    ),
    ...bindingActions(observed),
    ...namespaces.actions,
    ...heldWaits(observed),
    ...explainWaits(sizes, size, missing, supply.blockedReason),
  ]
  return {
    pool: poolOf(observed),
    actions,
    recheckAt: nextRecheck(
      observed,
      inventory,
      [...leaseWork.recheckTimes, ...namespaces.recheckTimes, ...supply.restTimes, supply.retryAt ?? NEVER],
      now,
    ),
    counts: countClusters(observed, buckets, { stale: stale.length, waiting: claims.waiting.length }),
  }
}

/** Of a new pool: its conditions come first. */
const initialPlan = (observed: Observed, now: Date): Plan => ({
  pool: poolOf(observed),
  actions: initialStatusActions(observed, initialConditions(observed.pool.metadata.generation), now),
  recheckAt: undefined,
  counts: countClusters(observed, sortIntoBuckets(observed, now), { stale: 0, waiting: 0 }),
})

const deletionActions = (size: Sizing): Action[] =>
  size.delete.map(({ cluster, reason }) => ({
    action: 'DeleteCluster',
    cluster,
    isStale: isStaleness(reason),
    why: DELETION_REASONS[reason],
  }))

const DELETION_REASONS: Readonly<Record<Deletion, string>> = {
  Marked: 'its claim is done with it',
  LeaseLost: 'another cluster leases its customization, so it can never be installed',
  Broken: 'it will never be usable',
  RemovedFromInventory: 'its customization was removed from the inventory',
  Drained: 'its customization is cordoned and drained',
  Surplus: 'there are more clusters than wanted',
  UnknownVersion: 'it has no record of the pool version it was made with',
  OtherVersion: 'it was made with another pool version',
  OtherCustomization: 'its customization was edited, or is leased by another cluster',
}

/** @param powerAt The power state of the n-th new cluster, counted from 0: the newest ones of the pool. */
const creationActions = (
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
const afterClaims = (buckets: Buckets, assigned: ReadonlySet<Cluster>): Buckets => {
  const rest = (clusters: readonly Cluster[]) => clusters.filter((cluster) => !assigned.has(cluster))
  const known = new Set(buckets.claimed)
  return {
    ...buckets,
    broken: rest(buckets.broken),
    assignable: rest(buckets.assignable),
    standby: rest(buckets.standby),
    installing: rest(buckets.installing),
    claimed: [...buckets.claimed, ...[...assigned].filter((cluster) => !known.has(cluster))],
  }
}

/** Of the next so many clusters, how many could not be made when they were tried last: POOL-47. */
const countFailing = (
  { creationFailures }: Observed,
  candidate: (index: number) => Candidate | undefined,
  creations: number,
): number => {
  if (creationFailures.size === 0) return 0
  return Array.from({ length: creations }, (_, index) => candidate(index)).filter(
    (one) => one !== undefined && creationFailures.get(one.customization?.name ?? WITHOUT_CUSTOMIZATION) !== undefined,
  ).length
}

const describeCreationProblem = ({ creationFailures }: Observed): string | undefined => {
  const [failure] = [...creationFailures.values()].toSorted((a, b) => compareText(a.cluster, b.cluster))
  return failure && `cluster ${failure.cluster.split('/')[1]} could not be made: ${failure.message}`
}

const findMissing = ({ missing, pool, customizations }: Observed): readonly string[] => {
  const name = pool.spec.customizationRef?.name
  return name === undefined || customizations.has(name) ? missing : [...missing, `customization of the pool: ${name}`]
}

/** Unclaimed clusters whose entry was removed: POOL-23. */
const findRemoved = (
  { installing, standby, assignable }: Buckets,
  inventory: Inventory | undefined,
): readonly Cluster[] =>
  [...installing, ...standby, ...assignable].filter(
    ({ customization }) => customization !== undefined && inventory?.[customization]?.status === 'ToBeDeleted',
  )

/** Unclaimed clusters whose customization is cordoned, and drained: POOL-55. */
const findDrained = (
  { customizations }: Observed,
  { installing, standby, assignable }: Buckets,
  inventory: Inventory | undefined,
): readonly Cluster[] =>
  [...installing, ...standby, ...assignable].filter(
    ({ customization = '' }) =>
      customizations.get(customization)?.cordoned?.drain === true &&
      inventory?.[customization]?.status !== 'ToBeDeleted',
  )

/** A cluster that failed stays until its failure is in the status: a crash in between must not lose the count (POOL-16). */
const findUncounted = (
  { pool }: Observed,
  { broken }: Buckets,
  inventory: Inventory | undefined,
): ReadonlySet<Cluster> =>
  new Set(
    broken.filter(({ uid, customization = '' }) => {
      const written = pool.status?.inventory?.[customization]?.failure?.uid
      return inventory?.[customization]?.failure?.uid === uid && written !== uid
    }),
  )

/** Clusters failed with two customizations or more, and none of this pool version was ever installed: it may be the version (POOL-31). */
const isUnproven = (buckets: Buckets, version: string, inventory: Inventory | undefined): boolean => {
  const installed = [...buckets.standby, ...buckets.assignable, ...buckets.claimed]
  if (installed.some((cluster) => cluster.version === version)) return false
  return Object.values(inventory ?? {}).filter(({ failure }) => failure !== undefined).length > 1
}

const findStaying = (
  { installing, standby, assignable }: Buckets,
  { delete: deletions }: Sizing,
): readonly Cluster[] => {
  const going = new Set(deletions.map(({ cluster }) => cluster))
  return [...installing, ...standby, ...assignable].filter((cluster) => !going.has(cluster))
}

const summarizeInventory = (inventory: Inventory, size: number, { claimed }: Buckets): Summary => {
  const held = claimed.filter(({ customization }) => {
    const status = inventory[customization ?? '']?.status
    return status === 'Reserved' || status === 'ToBeUpdated'
  })
  return summarizeEntries(inventory, size, held.length)
}

/** A moment that is never looked forward to. */
const NEVER = Number.NEGATIVE_INFINITY

const nextRecheck = (
  { pool, clusters, absentClaims }: Observed,
  inventory: Inventory | undefined,
  times: readonly number[],
  now: Date,
): Date | undefined => {
  const pauses = Object.values(inventory ?? {}).map((entry) => coolOffEnd(entry, now) ?? NEVER)
  // A cluster is broken when its time is over, not at its last moment.
  const resumes = clusters.map((cluster) => (resumeDeadline(cluster, pool.spec) ?? NEVER) + 1)
  const claims = clusters.map((cluster) => claimGoneAt(cluster, absentClaims) ?? NEVER)
  const future = [...claims, ...times, ...pauses, ...resumes].filter((time) => time > now.getTime())
  return future.length === 0 ? undefined : new Date(Math.min(...future))
}
