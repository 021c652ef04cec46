/** One pass of a pool: observe → plan → carry out. Nothing is remembered between passes but what a cache has not shown yet. */
import { randomInt } from 'node:crypto'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { type Clock, type Context, isConflict, isNotFound, type MayWait, TemporaryError } from '#operator/index.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { planPool } from './decide.ts'
import { newsOf } from './events.ts'
import { patchSeen, type Work } from './execute/context.ts'
import { carryOut, type Result } from './execute.ts'
import { labelsOf, type Metrics, setGauges } from './metrics.ts'
import { type NamespacedName, observe, type Read } from './model/observed.ts'
import type { Plan } from './model/plan.ts'
import { type Dependencies, readDependencies } from './observe/dependencies.ts'
import type { View } from './observe/indexes.ts'
import type { Refusals } from './observe/refusals.ts'
import { Recent } from './observe/write-cache.ts'
import { readPool } from './observe.ts'

export interface PassDeps {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly view: View
  /** A few random characters for the name of a cluster; others at every call. */
  readonly suffix?: () => string
}

/** How long what a pool refers to is taken as it was read; nothing of it is watched. Milliseconds. */
const DEPENDENCIES_AGE = 60_000
/** When something is missing, how soon to look whether it came. */
const LOOK_FOR_MISSING = 15_000
/** After somebody else was faster; the watch is usually quicker. */
const AFTER_CONFLICT = 1_000

/** What a pool's passes keep from one to the next; lost with the process. */
interface Memory {
  readonly recent: Recent
  readonly refusals: Refusals
  readonly begun: Map<string, NamespacedName>
  /** That of the refusals and the dependencies. */
  generation: number | undefined
  dependencies: Dependencies | undefined
}

/** @returns the handler of `reconcile` */
export const pass =
  (deps: PassDeps) =>
  async (context: Context<ClusterPool>): Promise<MayWait> => {
    const memory = memoryOf(context)
    const { api, clock, signal, events, log } = context
    const seen = memory.recent.latest(ClusterPool, context.object)
    if (memory.generation !== seen.metadata.generation) {
      memory.refusals.ofCustomizations.clear()
      memory.refusals.ofPool = undefined
      memory.dependencies = undefined
      memory.generation = seen.metadata.generation
    }
    const looking = { api, clock, memory, deps }
    const pool = await withFinalizer(seen, looking)
    if (pool === undefined) return { requeueAfter: AFTER_CONFLICT }
    let sight = await look(pool, looking)
    // What clusters are made of is read again before they are: it is not watched.
    if (makesClusters(sight.plan) && sight.dependencies.readAt < sight.now.getTime()) {
      memory.dependencies = undefined
      sight = await look(pool, looking)
    }
    const { plan, read, dependencies } = sight
    setGauges(deps.metrics, pool, plan.counts)
    const { recent, refusals, begun } = memory
    const work: Work = { api, clock, pool, read, recent, refusals, begun, secrets: dependencies.secrets }
    const results = await carryOut(plan.actions, work, signal)
    count(deps.metrics, pool, results, clock.now())
    for (const { type, reason, message } of newsOf(results, pool.status)) {
      events[type](reason, message)
      log.info(message, { reason })
    }
    failTogether(results)
    return next(sight, { results, overdueAt: recent.overdueAt() }, clock.now())
  }

interface Looking {
  readonly api: Context<ClusterPool>['api']
  readonly clock: Clock
  readonly memory: Memory
  readonly deps: PassDeps
}

interface Sight {
  readonly read: Read
  readonly plan: Plan
  readonly dependencies: Dependencies
  readonly now: Date
}

const look = async (pool: ClusterPool, { api, clock, memory, deps }: Looking): Promise<Sight> => {
  const now = clock.now()
  const { recent, refusals, begun } = memory
  const dependencies = await freshDependencies(pool, { api, clock, memory, deps })
  const read = await readPool(pool, dependencies, { api, view: deps.view, recent, refusals, begun, now })
  const plan = planPool(observe(read), { now, suffix: deps.suffix ?? randomSuffix })
  return { read, plan, dependencies, now }
}

const freshDependencies = async (pool: ClusterPool, { api, clock, memory }: Looking): Promise<Dependencies> => {
  const now = clock.now()
  const known = memory.dependencies
  const isFresh = known !== undefined && now.getTime() - known.readAt < DEPENDENCIES_AGE
  if (isFresh && known.missing.length === 0) return known
  memory.dependencies = await readDependencies(api, pool, now)
  return memory.dependencies
}

/**
 * Before anything is made: a pool that goes must be able to take its clusters along.
 * @returns undefined when somebody else wrote first
 */
const withFinalizer = async (pool: ClusterPool, { api, clock, memory }: Looking): Promise<ClusterPool | undefined> => {
  const { finalizers = [], deletionTimestamp, name, namespace = '', resourceVersion } = pool.metadata
  if (deletionTimestamp !== undefined || finalizers.includes(POOL_FINALIZER)) return pool
  const seen = { name, namespace, resourceVersion }
  const change = { metadata: { finalizers: [...finalizers, POOL_FINALIZER] } }
  try {
    return await patchSeen({ api, clock, recent: memory.recent }, ClusterPool, seen, change)
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return undefined
    throw error
  }
}

const makesClusters = ({ actions }: Plan): boolean => actions.some(({ action }) => action === 'CreateCluster')

const count = ({ counters, claimDelay }: Metrics, pool: ClusterPool, results: readonly Result[], now: Date): void => {
  const labels = labelsOf(pool)
  for (const { action, result } of results) {
    if (result === 'overtaken') counters.conflicts.inc(labels)
    if (result !== 'done') continue
    if (action.action === 'CreateCluster' && action.lease === 'take') counters.leasesTaken.inc(labels)
    if (action.action === 'DeleteCluster' && action.isStale) counters.staleDeleted.inc(labels)
    if (action.action === 'AssignClaim' && action.claim.namespace === undefined)
      claimDelay.observe(labels, (now.getTime() - action.claim.createdAt) / 1_000)
    if (action.action === 'WriteStatus') counters.failures.inc(labels, newFailures(pool, action.status))
  }
}

const newFailures = ({ status: before }: ClusterPool, after: NonNullable<ClusterPool['status']>): number =>
  Object.entries(after.inventory ?? {}).filter(
    ([name, { failure }]) => failure !== undefined && failure.uid !== before?.inventory?.[name]?.failure?.uid,
  ).length

/** Everything else was done; what failed is tried again after a while that grows. */
const failTogether = (results: readonly Result[]): void => {
  const failed = results.flatMap((one) => (one.result === 'failed' ? [one] : []))
  const [first] = failed
  if (first === undefined) return
  const said = failed.map(({ action, error }) => `${action.action}: ${error.message}`)
  throw new TemporaryError([...new Set(said)].join('; '), { cause: first.error })
}

interface Done {
  readonly results: readonly Result[]
  /** When the watch should have shown what was made; undefined when it has shown all. Milliseconds since the epoch. */
  readonly overdueAt: number | undefined
}

const next = (sight: Sight, { results, overdueAt }: Done, now: Date): MayWait => {
  const { plan, dependencies } = sight
  const times = [
    ...(mayNotFitTemplate(sight) ? [DEPENDENCIES_AGE] : []),
    ...(overdueAt === undefined ? [] : [overdueAt - now.getTime()]),
    ...(plan.lookAgainAt === undefined ? [] : [plan.lookAgainAt.getTime() - now.getTime()]),
    ...(dependencies.missing.length === 0 ? [] : [LOOK_FOR_MISSING]),
    ...(results.some(({ result }) => result === 'overtaken') ? [AFTER_CONFLICT] : []),
    ...(results.some(({ result }) => result === 'refused') || results.length < plan.actions.length ? [0] : []),
  ]
  return times.length === 0 ? undefined : { requeueAfter: Math.max(0, Math.min(...times)) }
}

/** What can't be applied to the template may be once that is mended, which nobody watches. */
const mayNotFitTemplate = ({ plan, read: { pool, template } }: Sight): boolean => {
  if (template === undefined) return false
  const status = plan.actions.find((one) => one.action === 'WriteStatus')?.status ?? pool.status
  const entries = Object.values(status?.inventory ?? {}).map((entry) => entry.status)
  return [...entries, findCondition(status?.conditions, 'Stalled')?.reason].includes('BrokenByConfiguration')
}

const memoryOf = ({ memo }: Context<ClusterPool>): Memory => {
  const known = memo.get('pool') as Memory | undefined
  if (known !== undefined) return known
  const memory: Memory = {
    recent: new Recent(),
    refusals: { ofCustomizations: new Map(), ofPool: undefined },
    begun: new Map(),
    generation: undefined,
    dependencies: undefined,
  }
  memo.set('pool', memory)
  return memory
}

/** Letters that make no words and look like nothing else, as Kubernetes' generated names have them. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'
const SUFFIX_LENGTH = 5

const randomSuffix = (): string =>
  Array.from({ length: SUFFIX_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
