/** What each customization of the inventory is to the pool now. Seed: clusterpool-inventory, `ClusterPool.Status.Inventory`. */
import type { InventoryEntry } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { whyBroken } from '../decide/buckets.ts'
import { type Lease, listedNames } from '../lease/lease.ts'
import { type Cluster, keyOf, type Leasable, type NamespacedName, type Observed } from '../model/observed.ts'
import { compare } from '../model/order.ts'
import { counted, type Failures, failureMessage, isUsedUp } from './attempts.ts'
import { fitted, type Room, roomFor } from './message-size.ts'

/** As the CRD defaults it; for what is left of an inventory that is gone. */
const ATTEMPTS = 3

export type Inventory = Readonly<Record<string, InventoryEntry>>

/** What a pass found out about the customizations. */
export interface Findings {
  readonly poolVersion: string
  readonly leases: ReadonlyMap<string, Lease>
  /** Why the patches of one can't be applied, by its name; only of those that nobody uses. */
  readonly refusals: ReadonlyMap<string, string>
}

/** The next `status.inventory`; undefined when there is nothing to say. Entries are in the order of their names. */
export const nextInventory = (observed: Observed, findings: Findings, now: Date): Inventory | undefined => {
  const listed = new Set(listedNames(observed))
  const entries = [...findings.leases.keys()].toSorted(compare).flatMap((name) => {
    const next = nextEntry(name, listed.has(name), observed, findings, now)
    return next === undefined ? [] : [[name, next] as const]
  })
  return entries.length === 0 && observed.pool.spec.inventory === undefined ? undefined : Object.fromEntries(entries)
}

const nextEntry = (
  name: string,
  isListed: boolean,
  observed: Observed,
  findings: Findings,
  now: Date,
): InventoryEntry | undefined => {
  const lease = findings.leases.get(name) ?? { state: 'Free', clean: true }
  const leasable = observed.customizations.get(name)
  const limit = observed.pool.spec.inventory?.attempts ?? ATTEMPTS
  const before = observed.pool.status?.inventory?.[name]
  const version = versionInUse(lease, before, leasable)
  const room = roomFor(findings.leases.size)
  const failures = shortened(
    afterCluster(lease, remembered(before, version, findings.poolVersion), limit, observed, findings, now),
    room,
  )
  const said = judge({
    isListed,
    lease,
    leasable,
    failures,
    limit,
    version,
    refusal: findings.refusals.get(name),
    observed,
  })
  if (said === undefined) return undefined
  const cluster = clusterOf(lease)
  // What to do stands at the end of what is said of failures: those are short already.
  const message = said.message === undefined ? failureMessage(failures, limit) : fitted(said.message, room.message)
  const { failure, retryTime } = failures
  return {
    ...(version !== undefined && { version }),
    status: said.status,
    attempts: Math.max(0, limit - (failure?.count ?? 0)),
    ...(failure !== undefined && { failure }),
    ...(retryTime !== undefined && { retryTime }),
    ...(cluster !== undefined && { clusterDeployment: { name: cluster.name, namespace: cluster.namespace } }),
    ...(message !== undefined && { message }),
  }
}

interface Facts {
  readonly isListed: boolean
  readonly lease: Lease
  readonly leasable: Leasable | undefined
  readonly failures: Failures
  readonly limit: number
  readonly version: string | undefined
  readonly refusal: string | undefined
  readonly observed: Observed
}

type Said = Pick<InventoryEntry, 'status' | 'message'>

/** The status of an entry; undefined when the entry goes. */
const judge = (facts: Facts): Said | undefined => {
  const { isListed, lease } = facts
  switch (lease.state) {
    case 'Used':
      return isListed ? used(facts) : removed(lease.cluster)
    case 'Taken':
    case 'Unseen':
      if (!isListed) return removed(lease.cluster)
      return facts.refusal === undefined ? used(facts) : { status: 'BrokenByConfiguration', message: facts.refusal }
    case 'Contested':
      return {
        status: isListed ? 'Unavailable' : 'ToBeDeleted',
        message: `${held(lease.holder, lease.pool)}, and cluster ${lease.cluster.name} of this pool has it too: that one is replaced once unclaimed`,
      }
    case 'Elsewhere':
      return isListed ? unused(facts, held(lease.cluster, lease.pool)) : undefined
    case 'Free':
      return isListed ? unused(facts, undefined) : undefined
  }
}

const removed = (cluster: NamespacedName): Said => ({
  status: 'ToBeDeleted',
  message: `no longer in the inventory; goes with cluster ${cluster.name}`,
})

const used = ({ leasable, version, failures, limit, lease }: Facts): Said => {
  const cluster = clusterOf(lease)?.name
  if (leasable === undefined)
    return { status: 'Missing', message: `there is no such customization any more, though cluster ${cluster} uses it` }
  if (leasable.version !== version)
    return { status: 'ToBeUpdated', message: `edited after cluster ${cluster} was made with it` }
  if (isUsedUp(failures, limit)) return { status: 'BrokenByCloud' }
  if (leasable.deleting && failures.failure === undefined)
    return { status: 'Reserved', message: `is being deleted; goes with cluster ${cluster}` }
  return { status: 'Reserved' }
}

const unused = ({ leasable, failures, limit, refusal, observed }: Facts, holder: string | undefined): Said => {
  if (leasable === undefined)
    return { status: 'Missing', message: `there is no such customization in namespace ${observed.namespace}` }
  if (leasable.deleting) return { status: 'Missing', message: 'is being deleted' }
  if (holder !== undefined) return { status: 'Unavailable', message: holder }
  if (refusal !== undefined) return { status: 'BrokenByConfiguration', message: refusal }
  return { status: isUsedUp(failures, limit) ? 'BrokenByCloud' : 'Available' }
}

const held = (cluster: NamespacedName, pool: NamespacedName | undefined): string =>
  `in use by cluster ${cluster.name} of ${pool === undefined ? 'an unknown pool' : `pool ${keyOf(pool)}`}`

/** The version that its cluster was made with; without a cluster the present one. */
const versionInUse = (
  lease: Lease,
  before: InventoryEntry | undefined,
  leasable: Leasable | undefined,
): string | undefined => {
  if (lease.state !== 'Used' && lease.state !== 'Contested') return leasable?.version ?? before?.version
  return lease.cluster.customizationVersion ?? before?.version ?? leasable?.version
}

/**
 * The failures that still count. Editing the customization resets its attempts (seed: Updating Inventory Resource); so does
 * another pool version, because what failed may have been the pool's part of it.
 */
const remembered = (before: InventoryEntry | undefined, version: string | undefined, poolVersion: string): Failures =>
  before?.version === version && before?.failure?.poolVersion === poolVersion
    ? { failure: before.failure, retryTime: before.retryTime }
    : {}

/** A cluster that failed is counted, one that was installed makes up for all before it. */
const afterCluster = (
  lease: Lease,
  before: Failures,
  limit: number,
  observed: Observed,
  { poolVersion }: Findings,
  now: Date,
): Failures => {
  if (lease.state !== 'Used') return before
  const { cluster } = lease
  if (cluster.deleting) return before
  const why = cluster.claim === undefined ? whyBroken(cluster, observed.pool.spec, now) : undefined
  // A cluster of an older pool version says nothing of what the present one would do.
  if (why !== undefined) return cluster.version === poolVersion ? counted(before, cluster, why, limit, now) : before
  return cluster.installed ? {} : before
}

/** Also one that was written when the entries were fewer. */
const shortened = ({ failure, ...rest }: Failures, room: Room): Failures =>
  failure === undefined ? rest : { ...rest, failure: { ...failure, message: fitted(failure.message, room.failure) } }

const clusterOf = (lease: Lease): Cluster | NamespacedName | undefined =>
  lease.state === 'Used' || lease.state === 'Taken' || lease.state === 'Unseen' || lease.state === 'Contested'
    ? lease.cluster
    : undefined
