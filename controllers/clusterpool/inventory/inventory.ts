/** What each customization of the inventory is to the pool now: POOL-12 to POOL-15, POOL-23, POOL-25. */
import { INVENTORY_ATTEMPTS, type InventoryEntry } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { RESTORE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { brokenReason } from '../decide/buckets.ts'
import { formatAppliedPatches } from '../lease/applied-patches.ts'
import { type Lease, listedNames } from '../lease/lease.ts'
import type { Cluster } from '../model/cluster.ts'
import type { CustomizationState } from '../model/customization-state.ts'
import { keyOf, type NamespacedName } from '../model/names.ts'
import type { Observed } from '../model/observed.ts'
import { compareText } from '../model/order.ts'
import { creationFailureOf, restEnd } from '../observe/creation-failures.ts'
import { type Failures, failureMessage, hasNoAttemptsLeft, recordFailure } from './attempts.ts'
import { type MessageLimits, messageLimits, truncate } from './message-size.ts'

export type Inventory = Readonly<Record<string, InventoryEntry>>

/** What a pass found out about the customizations. */
export interface InventoryInput {
  readonly poolVersion: string
  readonly leases: ReadonlyMap<string, Lease>
  /** Why the patches of one can't be applied, by its name; only of unused ones. */
  readonly problems: ReadonlyMap<string, string>
}

/** The next `status.inventory`; undefined when there is nothing to say. Entries are in the order of their names. */
export const buildInventory = (observed: Observed, findings: InventoryInput, now: Date): Inventory | undefined => {
  const listed = new Set(listedNames(observed))
  const entries = [...findings.leases.keys()].toSorted(compareText).flatMap((name) => {
    const next = buildEntry(name, listed.has(name), observed, findings, now)
    return next === undefined ? [] : [[name, next] as const]
  })
  return entries.length === 0 && observed.pool.spec.inventory === undefined ? undefined : Object.fromEntries(entries)
}

const buildEntry = (
  name: string,
  isListed: boolean,
  observed: Observed,
  findings: InventoryInput,
  now: Date,
): InventoryEntry | undefined => {
  const lease = findings.leases.get(name) ?? { state: 'Free', clean: true }
  const customization = observed.customizations.get(name)
  // The default is for what is left of an inventory that is gone.
  const limit = observed.pool.spec.inventory?.attempts ?? INVENTORY_ATTEMPTS
  const before = observed.pool.status?.inventory?.[name]
  const version = versionInUse(lease, before, customization)
  const room = messageLimits(findings.leases.size)
  const failures = shortenFailure(
    countClusterOutcome(
      lease,
      carryOverFailures(before, version, findings.poolVersion),
      limit,
      observed,
      findings,
      now,
    ),
    room,
  )
  const entry = entryStatus({
    isListed,
    lease,
    customization,
    failures,
    limit,
    version,
    problem: findings.problems.get(name),
    observed,
  })
  if (entry === undefined) return undefined
  const cluster = clusterOf(lease)
  // What to do stands at the end of what is said of failures: those are short already.
  const message = entry.message === undefined ? failureMessage(failures, limit) : truncate(entry.message, room.message)
  const { failure, retryTime } = failures
  return {
    ...(version !== undefined && { version }),
    status: entry.status,
    ...(isListed && customization?.cordoned !== undefined && { cordoned: true }),
    attempts: Math.max(0, limit - (failure?.count ?? 0)),
    ...(failure !== undefined && { failure }),
    ...(retryTime !== undefined && { retryTime }),
    ...(cluster !== undefined && { clusterDeployment: { name: cluster.name, namespace: cluster.namespace } }),
    ...(message !== undefined && { message }),
  }
}

interface EntryInput {
  readonly isListed: boolean
  readonly lease: Lease
  readonly customization: CustomizationState | undefined
  readonly failures: Failures
  readonly limit: number
  readonly version: string | undefined
  readonly problem: string | undefined
  readonly observed: Observed
}

type EntryStatus = Pick<InventoryEntry, 'status' | 'message'>

/** The status of an entry; undefined when the entry goes. */
const entryStatus = (facts: EntryInput): EntryStatus | undefined => {
  const { isListed, lease } = facts
  switch (lease.state) {
    case 'Used':
      return isListed ? usedStatus(facts) : removedStatus(lease.cluster)
    case 'Taken':
    case 'Unseen':
      if (!isListed) return removedStatus(lease.cluster)
      if (lease.state === 'Taken' && facts.problem === undefined) {
        const message = describeTakenFailure(lease, facts)
        if (message !== undefined) return { status: 'Reserved', message }
      }
      return facts.problem === undefined
        ? usedStatus(facts)
        : { status: 'BrokenByConfiguration', message: facts.problem }
    case 'Contested':
      return {
        status: isListed ? 'Unavailable' : 'ToBeDeleted',
        message: `${describeHolder(lease.holder, lease.pool)}, and cluster ${lease.cluster.name} of this pool has it too: that one is replaced once unclaimed`,
      }
    case 'Elsewhere':
      return isListed ? unusedStatus(facts, describeHolder(lease.cluster, lease.pool)) : undefined
    case 'Free':
      return isListed ? unusedStatus(facts, undefined) : undefined
  }
}

/** What keeps the cluster from being made for which the lease was taken, and when the lease is given back: POOL-47. */
const describeTakenFailure = (
  { cluster, abandonedAt }: Extract<Lease, { readonly state: 'Taken' }>,
  { customization, observed }: EntryInput,
): string | undefined => {
  const failure = customization && creationFailureOf(customization, observed)
  if (failure?.cluster !== keyOf(cluster)) return undefined
  return `cluster ${cluster.name} can't be made: ${failure.message}; tried again, and the lease is given back after ${new Date(abandonedAt).toISOString()}`
}

const removedStatus = (cluster: NamespacedName): EntryStatus => ({
  status: 'ToBeDeleted',
  message: `no longer in the inventory; goes with cluster ${cluster.name}`,
})

const usedStatus = ({ customization, version, failures, limit, lease }: EntryInput): EntryStatus => {
  const cluster = clusterOf(lease)?.name
  if (customization === undefined)
    return { status: 'Missing', message: `there is no such customization any more, though cluster ${cluster} uses it` }
  if (customization.version !== version && !isUnchanged(lease, customization))
    return { status: 'ToBeUpdated', message: `edited after cluster ${cluster} was made with it` }
  if (hasNoAttemptsLeft(failures, limit)) return { status: 'BrokenByCloud' }
  if (customization.cordoned !== undefined)
    return {
      status: 'Reserved',
      message: `${cordonMessage(customization.cordoned)}; ${cordonEffect(customization, lease)}`,
    }
  if (customization.deleting && failures.failure === undefined)
    return { status: 'Reserved', message: `is being deleted; goes with cluster ${cluster}` }
  return { status: 'Reserved' }
}

const unusedStatus = (
  { customization, failures, limit, problem, observed }: EntryInput,
  holder: string | undefined,
): EntryStatus => {
  if (customization === undefined)
    return { status: 'Missing', message: `there is no such customization in namespace ${observed.namespace}` }
  if (customization.deleting) return { status: 'Missing', message: 'is being deleted' }
  if (customization.cordoned !== undefined)
    return { status: 'Unavailable', message: `${cordonMessage(customization.cordoned)}; no cluster leases it` }
  if (customization.restoring)
    return {
      status: 'Unavailable',
      message: `is being restored: no cluster leases it until its label ${RESTORE_LABEL} is taken off`,
    }
  if (holder !== undefined) return { status: 'Unavailable', message: holder }
  if (problem !== undefined) return { status: 'BrokenByConfiguration', message: problem }
  if (hasNoAttemptsLeft(failures, limit)) return { status: 'BrokenByCloud' }
  const notMade = creationFailureOf(customization, observed)
  if (notMade === undefined) return { status: 'Available' }
  const next =
    notMade.firstAt === undefined
      ? 'it is tried again by itself'
      : `leased again after ${new Date(restEnd(notMade)).toISOString()}`
  return {
    status: 'Available',
    message: `cluster ${notMade.cluster.split('/')[1]} could not be made: ${notMade.message}; ${next}`,
  }
}

/** The cluster has what the patches say now: an edit changed something else, or was taken back. */
const isUnchanged = (lease: Lease, { applied, patches }: CustomizationState): boolean =>
  lease.state === 'Used' && lease.written && applied === formatAppliedPatches(patches)

const cordonMessage = ({ reason }: NonNullable<CustomizationState['cordoned']>): string => `cordoned: ${reason}`

const cordonEffect = ({ cordoned }: CustomizationState, lease: Lease): string => {
  const isClaimed = lease.state === 'Used' && lease.cluster.claim !== undefined
  if (isClaimed) return 'its cluster is claimed and stays'
  return cordoned?.drain ? 'its cluster is deleted' : 'no other cluster leases it after this one'
}

const describeHolder = (cluster: NamespacedName, pool: NamespacedName | undefined): string =>
  `in use by cluster ${cluster.name} of ${pool === undefined ? 'an unknown pool' : `pool ${keyOf(pool)}`}`

/** The version that its cluster was made with; without a cluster the present one. */
const versionInUse = (
  lease: Lease,
  before: InventoryEntry | undefined,
  customization: CustomizationState | undefined,
): string | undefined => {
  if (lease.state !== 'Used' && lease.state !== 'Contested') return customization?.version ?? before?.version
  return lease.cluster.customizationVersion ?? before?.version ?? customization?.version
}

/**
 * The failures that still count. Editing the customization resets its attempts (POOL-25); so does
 * another pool version, because what failed may have been the pool's part of it.
 */
const carryOverFailures = (
  before: InventoryEntry | undefined,
  version: string | undefined,
  poolVersion: string,
): Failures =>
  before?.version === version && before?.failure?.poolVersion === poolVersion
    ? { failure: before.failure, retryTime: before.retryTime }
    : {}

/** A cluster that failed is counted, one that was installed makes up for all before it. */
const countClusterOutcome = (
  lease: Lease,
  before: Failures,
  limit: number,
  observed: Observed,
  { poolVersion }: InventoryInput,
  now: Date,
): Failures => {
  if (lease.state !== 'Used') return before
  const { cluster } = lease
  if (cluster.deleting) return before
  const why = cluster.claim === undefined ? brokenReason(cluster, observed.pool.spec, now) : undefined
  // A cluster of an older pool version says nothing of what the present one would do.
  if (why !== undefined)
    return cluster.version === poolVersion ? recordFailure(before, cluster, why, limit, now) : before
  return cluster.installed ? {} : before
}

/** Also one that was written when the entries were fewer. */
const shortenFailure = ({ failure, ...rest }: Failures, room: MessageLimits): Failures =>
  failure === undefined ? rest : { ...rest, failure: { ...failure, message: truncate(failure.message, room.failure) } }

const clusterOf = (lease: Lease): Cluster | NamespacedName | undefined =>
  lease.state === 'Used' || lease.state === 'Taken' || lease.state === 'Unseen' || lease.state === 'Contested'
    ? lease.cluster
    : undefined
