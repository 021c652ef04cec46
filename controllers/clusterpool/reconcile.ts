/** One pass of a pool: observe → plan → carry out. Nothing is remembered between passes but what a cache has not shown yet. */
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { type Clock, type Context, isConflict, isNotFound, TemporaryError } from '#operator/index.ts'
import { monotonicTimes } from '#operator/model/brake-record.ts'
import { monotonic } from '#operator/model/clock.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { countConflict, forgetConflicts } from '#operator/model/conflict-retry.ts'
import { keyOf } from '#operator/model/resource.ts'
import {
  applyBrake,
  type ClusterBrake,
  createBrake,
  knownAbsentClaims,
  plannedDeletions,
  recordDeletions,
} from './decide/brake.ts'
import { findInferredDeletions } from './decide/inferred-deletions.ts'
import { decide } from './decide.ts'
import { buildEvents } from './events.ts'
import { type ExecuteContext, patchIfUnchanged } from './execute/context.ts'
import { randomSuffix } from './execute/random-suffix.ts'
import { type ActionResult, execute } from './execute.ts'
import { soonWhileLeaving } from './leaving.ts'
import { labelsOf, type Metrics, setGauges } from './metrics.ts'
import type { NamespacedName } from './model/names.ts'
import { type InferredClusterDeletion, type PoolObjects, toObserved } from './model/observed.ts'
import type { Plan } from './model/plan.ts'
import { type Dependencies, readDependencies } from './observe/dependencies.ts'
import type { PoolIndexes } from './observe/indexes.ts'
import { noRejections, type Rejections } from './observe/rejections.ts'
import { WriteCache } from './observe/write-cache.ts'
import { readPoolObjects } from './observe.ts'
import type { ClusterPoolOptions } from './options.ts'

export interface ReconcileDeps
  extends Pick<ClusterPoolOptions, 'clock' | 'suffix' | 'preflight'>,
    Required<Pick<ClusterPoolOptions, 'podSecurity' | 'podNetwork'>> {
  readonly metrics: Metrics
  readonly indexes: PoolIndexes
}

/** How long what a pool refers to is taken as it was read; nothing of it is watched. Milliseconds. */
const DEPENDENCIES_MAX_AGE_MS = 60_000
/** When something is missing, how soon to look whether it came. */
const MISSING_RECHECK_MS = 15_000
/** What a pool refers to is not watched: a pool that has nothing else to do looks at it this often (POOL-51). */
const RESYNC_INTERVAL_MS = 5 * 60_000

/** What a pool's passes keep from one to the next; lost with the process. */
interface Memory {
  readonly writeCache: WriteCache
  readonly rejections: Rejections
  readonly unfinishedClusters: Map<string, NamespacedName>
  /** Since when claims that clusters name are not there. */
  readonly absentClaims: Map<string, number>
  /** The uids of namespaces in which a cluster was seen. */
  readonly usedNamespaces: Set<string>
  readonly brake: ClusterBrake
  /** That of the rejections and the dependencies. */
  generation: number | undefined
  dependencies: Dependencies | undefined
}

/** @returns the handler of `reconcile` */
export const reconcile = (deps: ReconcileDeps) =>
  soonWhileLeaving(async (context) => {
    const memory = poolMemory(context, deps.indexes)
    const { api, clock, signal, events, log, memo } = context
    const latest = memory.writeCache.latest(ClusterPool, context.object, clock.now())
    if (memory.generation !== latest.metadata.generation) {
      memory.rejections.ofCustomizations.clear()
      memory.rejections.ofPool = undefined
      memory.rejections.ofCreations.clear()
      memory.dependencies = undefined
      memory.generation = latest.metadata.generation
    }
    const passContext: PassContext = { api, clock, memory, deps }
    let pool = await addFinalizer(latest, passContext)
    if (pool === undefined) return { requeueAfter: countConflict(memo) }
    let decided = await observeAndDecide(pool, passContext)
    // What clusters are made of is read again before they are: it is not watched.
    if (makesClusters(decided.plan) && decided.dependencies.readAt < decided.began) {
      memory.dependencies = undefined
      decided = await observeAndDecide(pool, passContext)
    }
    const planned = plannedDeletions(decided.plan, decided.inferred)
    if (planned.length > 0) {
      pool = await writeDeletionRecord(pool, planned, passContext)
      if (pool === undefined) return { requeueAfter: countConflict(memo) }
      decided = await observeAndDecide(pool, passContext)
    }
    const { plan, objects, dependencies } = decided
    setGauges(deps.metrics, pool, plan.counts)
    const { writeCache, rejections, unfinishedClusters } = memory
    const executeContext: ExecuteContext = {
      api,
      clock,
      pool,
      objects,
      writeCache,
      rejections,
      unfinishedClusters,
      secrets: dependencies.secrets,
      preflight: deps.preflight ?? {},
      podSecurity: deps.podSecurity,
      podNetwork: deps.podNetwork,
    }
    const results = await execute(plan.actions, executeContext, signal)
    for (const { action, result } of results) {
      const deleted = action.action === 'DeleteCluster' && result === 'done' ? action.cluster.uid : undefined
      const deletion = decided.inferred.find(({ key }) => key === deleted)
      if (deletion !== undefined) memory.brake.deleted(deletion, monotonic(clock))
    }
    countResults(deps.metrics, pool, results, clock.now())
    for (const { type, reason, message } of buildEvents(results, pool.status)) {
      events[type](reason, message)
      log[type === 'warning' ? 'warn' : 'info'](message, { reason })
    }
    throwFailures(results)
    const isConflicted = results.some(({ result }) => result === 'conflict')
    const conflictDelay = isConflicted ? countConflict(memo) : undefined
    if (!isConflicted) forgetConflicts(memo)
    return requeue(decided, { results, overdueAt: writeCache.overdueAt(), conflictDelay }, clock.now())
  })

interface PassContext {
  readonly api: Context<ClusterPool>['api']
  readonly clock: Clock
  readonly memory: Memory
  readonly deps: ReconcileDeps
}

interface Decided {
  readonly objects: PoolObjects
  readonly plan: Plan
  /** Deletions of the plan, or held, that no person asked for. */
  readonly inferred: readonly InferredClusterDeletion[]
  readonly dependencies: Dependencies
  readonly now: Date
  /** As `readAt` of the dependencies. */
  readonly began: number
}

const observeAndDecide = async (pool: ClusterPool, { api, clock, memory, deps }: PassContext): Promise<Decided> => {
  const [now, began] = [clock.now(), monotonic(clock)]
  const { writeCache, rejections, unfinishedClusters } = memory
  const dependencies = await refreshDependencies(pool, { api, clock, memory, deps })
  const read = await readPoolObjects(pool, dependencies, {
    api,
    indexes: deps.indexes,
    writeCache,
    rejections,
    unfinishedClusters,
    absentClaims: memory.absentClaims,
    usedNamespaces: memory.usedNamespaces,
    now,
  })
  const seen = toObserved(read)
  const inferred = findInferredDeletions(seen, now)
  const braked = applyBrake(seen, inferred, memory.brake, monotonic(clock), deps.indexes.askedClusters)
  const plan = decide({ ...seen, ...braked }, { now, suffix: deps.suffix ?? randomSuffix })
  return { objects: { ...read, ...braked }, plan, inferred, dependencies, now, began }
}

const refreshDependencies = async (pool: ClusterPool, { api, clock, memory }: PassContext): Promise<Dependencies> => {
  const known = memory.dependencies
  const isFresh = known !== undefined && monotonic(clock) - known.readAt < DEPENDENCIES_MAX_AGE_MS
  if (isFresh && known.missing.length === 0) return known
  memory.dependencies = await readDependencies(api, pool, monotonic(clock))
  return memory.dependencies
}

/**
 * Before anything is made: a pool that goes must be able to take its clusters along.
 * @returns undefined when the pool was written since
 */
const addFinalizer = async (pool: ClusterPool, context: PassContext): Promise<ClusterPool | undefined> => {
  const { finalizers = [], deletionTimestamp } = pool.metadata
  if (deletionTimestamp !== undefined || finalizers.includes(POOL_FINALIZER)) return pool
  return patchPool(pool, { metadata: { finalizers: [...finalizers, POOL_FINALIZER] } }, context)
}

/** @returns undefined when the pool was written since */
const patchPool = async (
  { metadata: { name, namespace = '', resourceVersion } }: ClusterPool,
  change: { readonly metadata?: object; readonly status?: object },
  { api, clock, memory }: PassContext,
  subresource?: 'status',
): Promise<ClusterPool | undefined> => {
  const latest = { name, namespace, resourceVersion }
  const writing = { api, clock, writeCache: memory.writeCache }
  try {
    return await patchIfUnchanged(writing, ClusterPool, latest, change, subresource)
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return undefined
    throw error
  }
}

/**
 * The count of the brake, before anything is deleted: a process that is killed in between must not forget it.
 * @returns undefined when the pool was written since
 */
const writeDeletionRecord = async (
  pool: ClusterPool,
  planned: readonly InferredClusterDeletion[],
  context: PassContext,
): Promise<ClusterPool | undefined> => {
  const recentDeletions = recordDeletions(context.memory.brake, planned, monotonicTimes(context.clock))
  if (recentDeletions === pool.status?.recentDeletions || recentDeletions === undefined) return pool
  return patchPool(pool, { status: { recentDeletions } }, context, 'status')
}

const makesClusters = ({ actions }: Plan): boolean => actions.some(({ action }) => action === 'CreateCluster')

const countResults = (
  { counters, claimDelay }: Metrics,
  pool: ClusterPool,
  results: readonly ActionResult[],
  now: Date,
): void => {
  const labels = labelsOf(pool)
  for (const { action, result } of results) {
    if (result === 'conflict') counters.conflicts.inc(labels)
    if (result !== 'done') continue
    if (action.action === 'CreateCluster' && action.lease === 'take') counters.leasesTaken.inc(labels)
    if (action.action === 'DeleteCluster' && action.isStale) counters.staleDeleted.inc(labels)
    if (action.action === 'AssignClaim' && action.claim.namespace === undefined)
      claimDelay.observe(labels, (now.getTime() - action.claim.createdAt) / 1_000)
    if (action.action === 'WriteStatus') counters.failures.inc(labels, countNewFailures(pool, action.status))
  }
}

const countNewFailures = ({ status: before }: ClusterPool, after: NonNullable<ClusterPool['status']>): number =>
  Object.entries(after.inventory ?? {}).filter(
    ([name, { failure }]) => failure !== undefined && failure.uid !== before?.inventory?.[name]?.failure?.uid,
  ).length

/** Everything else was done; what failed is tried again after a while that grows. */
const throwFailures = (results: readonly ActionResult[]): void => {
  const failed = results.flatMap((one) => (one.result === 'failed' ? [one] : []))
  const [first] = failed
  if (first === undefined) return
  const messages = failed.map(({ action, error }) => `${action.action}: ${error.message}`)
  throw new TemporaryError([...new Set(messages)].join('; '), { cause: first.error })
}

interface Executed {
  readonly results: readonly ActionResult[]
  /** When the watch should have shown what was made; undefined when it has shown all. Milliseconds since the epoch. */
  readonly overdueAt: number | undefined
  /** Undefined when no write lost. Milliseconds. */
  readonly conflictDelay: number | undefined
}

const requeue = (decided: Decided, executed: Executed, now: Date): { readonly requeueAfter: number } => {
  const { results, overdueAt, conflictDelay } = executed
  const { plan, dependencies } = decided
  const times = [
    RESYNC_INTERVAL_MS,
    ...(mayNotFitTemplate(decided) ? [DEPENDENCIES_MAX_AGE_MS] : []),
    ...(overdueAt === undefined ? [] : [overdueAt - now.getTime()]),
    ...(plan.recheckAt === undefined ? [] : [plan.recheckAt.getTime() - now.getTime()]),
    ...(dependencies.missing.length === 0 ? [] : [MISSING_RECHECK_MS]),
    ...(conflictDelay !== undefined
      ? [conflictDelay]
      : results.some(({ result }) => result === 'rejected') || results.length < plan.actions.length
        ? [0]
        : []),
  ]
  return { requeueAfter: Math.max(0, Math.min(...times)) }
}

/** Patches that don't fit the template may fit once it is corrected; the template is not watched. */
const mayNotFitTemplate = ({ plan, objects: { pool, template } }: Decided): boolean => {
  if (template === undefined) return false
  const status = plan.actions.find((one) => one.action === 'WriteStatus')?.status ?? pool.status
  const entries = Object.values(status?.inventory ?? {}).map((entry) => entry.status)
  return [...entries, findCondition(status?.conditions, 'Stalled')?.reason].includes('BrokenByConfiguration')
}

const poolMemory = ({ memo, object, clock }: Context<ClusterPool>, indexes: PoolIndexes): Memory => {
  const known = memo.get('pool') as Memory | undefined
  if (known !== undefined) return known
  const memory: Memory = {
    writeCache: new WriteCache(),
    rejections: noRejections(),
    unfinishedClusters: new Map(),
    absentClaims: knownAbsentClaims(object, indexes.clustersOfPool.get(keyOf(object.metadata))),
    usedNamespaces: new Set(),
    brake: createBrake(object, monotonic(clock)),
    generation: undefined,
    dependencies: undefined,
  }
  memo.set('pool', memory)
  return memory
}
