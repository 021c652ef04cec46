import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { untilAborted } from '#lib/abort/until-aborted.ts'
import { createLogger } from '#lib/log/logger.ts'
import { detach } from '#lib/process/detach.ts'
import type { Admission, AdmissionEnvironment, AdmissionOptions } from './admission/index.ts'
import { type Api, createApi } from './client/api.ts'
import { type LeaseOptions, runWithLease } from './client/lease.ts'
import { loadTransport, type Transport } from './client/transport.ts'
import type { AnyController } from './controller.ts'
import { type Cache, cacheOf } from './engine/cache.ts'
import type { Handler } from './engine/context.ts'
import { type ControllerRunMetrics, type ControllerRunOptions, startControllerRun } from './engine/controller-run.ts'
import type { Definition } from './engine/definition.ts'
import { createInformers, type Informers } from './engine/informers.ts'
import { type PreparedController, prepareController, refuseDuplicates } from './engine/prepare-controller.ts'
import {
  type Election,
  leaseTimesOf,
  type OperatorSettings,
  type SettingsInput,
  withDefaults,
} from './engine/settings.ts'
import { waitAtMost } from './engine/wait-at-most.ts'
import type { WatchProblem } from './engine/watch-problems.ts'
import type { Health } from './health.ts'
import type { RuntimeMetrics } from './metrics.ts'
import { type Clock, systemClock } from './model/clock.ts'
import { toMilliseconds } from './model/duration.ts'
import type { Logger } from './model/log.ts'
import type { KubeObject, Resource } from './model/resource.ts'

export type { Cache, OperatorSettings, WatchProblem }

export interface OperatorStatus {
  /** Every cache was filled once. */
  readonly synced: boolean
  /** Undefined without election. */
  readonly leading: boolean | undefined
  readonly problems: readonly WatchProblem[]
}

/** For onStartup and onCleanup. */
export interface LifeCycleContext {
  readonly api: Api
  readonly log: Logger
  /** Aborts when the operator stops. */
  readonly signal: AbortSignal
}

export interface OperatorOptions {
  readonly controllers: readonly AnyController[]
  readonly settings?: SettingsInput
  /** Watch only these; default: all. Cluster-scoped kinds are watched in any case. */
  readonly namespaces?: readonly string[]
  /** Before anything is watched; an error ends `start`. */
  readonly onStartup?: Handler<LifeCycleContext>
  /** After everything has stopped. */
  readonly onCleanup?: Handler<LifeCycleContext>
  /** Default: the kubeconfig of the environment. The operator closes only a transport that it made itself. */
  readonly transport?: Transport
  readonly clock?: Clock
  /** Default: JSON lines on stderr. */
  readonly log?: Logger
  readonly metrics?: RuntimeMetrics
  /** Gets a readiness check 'caches' and a heartbeat for the watches. */
  readonly health?: Health
  /** Serves the validate and mutate handlers, on every replica. Default: they are not served. */
  readonly admission?: AdmissionOptions
  /** Of this process, for leases. Default: `<host name>_<random>`. */
  readonly identity?: string
  /** In [0, 1), for jitter. Default: Math.random. */
  readonly random?: () => number
  /** How to remedy a problem, a sentence for those who run the program; appended to the log line and to the readiness check. */
  readonly remedy?: (problem: WatchProblem) => string | undefined
}

export interface Operator {
  /** Runs until `stop` or the signal; resolves when nothing is left running. @throws what onStartup throws */
  start(signal?: AbortSignal): Promise<void>
  /** Resolves within 2 s, when nothing is left running: no watch, timer, lease or handler that heeds its signal. */
  stop(): Promise<void>
  /**
   * True when all caches are filled and webhooks are served; handlers run if this process leads. False when it has stopped,
   * or could not start, before: `start` says why. Never rejects. RUNTIME-50.
   */
  readonly ready: Promise<boolean>
  status(): OperatorStatus
  /** What is in memory of a kind; undefined when no controller watches it, or before `start`. */
  cache<O extends KubeObject>(resource: Resource<O>): Cache<O> | undefined
}

/** Runs controllers against one API server. @throws TypeError, DurationError for settings that can't work */
export const operator = (options: OperatorOptions): Operator => {
  const { clock = systemClock, log = createLogger(), random = Math.random, namespaces, metrics } = options
  const { identity = `${hostname()}_${randomBytes(4).toString('hex')}` } = options
  const settings = withDefaults(options.settings)
  const definitions = options.controllers.map(({ definition }) => definition)
  refuseDuplicates(definitions)

  const stopping = new AbortController()
  const ready = Promise.withResolvers<boolean>()
  let sources: Informers | undefined
  let synced = false
  let leading: boolean | undefined = settings.election === undefined ? undefined : false
  let running: Promise<void> | undefined

  const status = (): OperatorStatus => ({ synced, leading, problems: sources?.problems() ?? [] })

  /** Handlers at work, until the signal aborts: for good, or until leadership is lost. */
  const lead = async (api: Api, prepared: readonly PreparedController[], signal: AbortSignal): Promise<void> => {
    const { election } = settings
    const setLeading = (isLeading: boolean) => {
      if (election === undefined) return
      leading = isLeading
      metrics?.leading(election.lease, isLeading)
    }
    setLeading(true)
    await runControllers(prepared, { api, clock, log, random, settings, identity }, metrics, signal)
    setLeading(false)
  }

  const work = async (api: Api, transport: Transport): Promise<void> => {
    const { signal } = stopping
    const beat = options.health?.heartbeat('watches', MAX_HEARTBEAT_AGE)
    sources = createInformers({
      transport,
      clock,
      log,
      signal,
      random,
      inactivityTimeout: settings.watching.inactivityTimeout,
      beat: () => beat?.beat(),
      remedy: (problem) => options.remedy?.(problem),
    })
    const prepared = definitions.map((definition) => prepareController(definition, sources as Informers, namespaces))
    options.health?.check('caches', () => describeUnready(status(), sources?.filling() ?? [], options.remedy))
    let admission: Admission | undefined
    try {
      if (!(await sources.synced())) return
      synced = true
      const stopTimeoutMs = toMilliseconds(settings.execution.stopTimeout)
      admission = await startAdmission(definitions, options.admission, { api, clock, log, stopTimeoutMs }, signal)
      ready.resolve(true)
      const lease = { api, identity, clock, log, signal, random }
      await runElected(settings.election, lease, (held) => lead(api, prepared, held))
    } finally {
      beat?.stop()
      await admission?.stop()
    }
  }

  const run = async (): Promise<void> => {
    const transport =
      options.transport ?? (await loadTransport({ clock, ...(metrics && { metrics: metrics.requests }) }))
    const api = createApi(transport)
    const context: LifeCycleContext = { api, log, signal: stopping.signal }
    const timeoutMs = toMilliseconds(settings.execution.stopTimeout)
    try {
      await waitAtMost(options.onStartup?.(context), stopping.signal, timeoutMs)
      if (!stopping.signal.aborted) await work(api, transport)
    } finally {
      stopping.abort(new Error('the operator has stopped'))
      await sources?.stopped()
      await waitAtMost(options.onCleanup?.(context), stopping.signal, timeoutMs)
      if (options.transport === undefined) await transport.close()
    }
  }

  const stop = async (): Promise<void> => {
    stopping.abort(new Error('the operator is stopping'))
    await running?.catch(() => {})
  }

  return {
    ready: ready.promise,
    status,
    cache: (resource) => cacheOf(sources?.find(resource) ?? []),
    stop,
    start(signal) {
      if (running !== undefined) throw new TypeError('this operator was started before: make a new one')
      if (signal?.aborted) stopping.abort(signal.reason)
      signal?.addEventListener('abort', () => stopping.abort(signal.reason), { once: true, signal: stopping.signal })
      running = run().finally(() => ready.resolve(false))
      return running
    },
  }
}

/** Longer than any silence of a healthy watch (70 s) and the longest backoff (30 s). */
const MAX_HEARTBEAT_AGE = '3m'

const metricsOf = (metrics: RuntimeMetrics, name: string): ControllerRunMetrics => ({
  ...metrics.controller(name),
  queue: metrics.workqueue(name),
})

/** One sentence on why handlers can't run yet; undefined when they can. */
const describeUnready = (
  { synced, problems }: OperatorStatus,
  filling: readonly string[],
  remedy: OperatorOptions['remedy'],
): string | undefined => {
  if (synced) return undefined
  const [problem] = problems
  if (problem === undefined) return `the caches are being filled: ${filling.join(', ')}`
  const how = remedy?.(problem)
  return how === undefined ? problem.message : `${problem.message}: ${how}`
}

/** Works while this process leads; where there is no election, at once. */
const runElected = async (
  election: Election | undefined,
  options: Omit<LeaseOptions, 'name' | 'namespace' | 'times'>,
  work: (leading: AbortSignal) => Promise<void>,
): Promise<void> => {
  if (election === undefined) return work(options.signal)
  const { lease: name, namespace } = election
  await runWithLease({ ...options, name, namespace, times: leaseTimesOf(election) }, work)
}

/** Runs controllers until the signal aborts. */
const runControllers = async (
  prepared: readonly PreparedController[],
  options: Omit<ControllerRunOptions, 'prepared' | 'metrics'>,
  metrics: RuntimeMetrics | undefined,
  signal: AbortSignal,
): Promise<void> => {
  const runs = prepared.map((one) =>
    startControllerRun({ ...options, prepared: one, metrics: metrics && metricsOf(metrics, one.definition.name) }),
  )
  await untilAborted(signal)
  const reason = signal.reason instanceof Error ? signal.reason.message : 'the operator is stopping'
  await Promise.all(runs.map((run) => run.stop(reason)))
}

/** Loaded only when it is asked for: the certificates bring a library along. It stops when the signal aborts. */
const startAdmission = async (
  definitions: readonly Definition[],
  options: AdmissionOptions | undefined,
  environment: AdmissionEnvironment,
  signal: AbortSignal,
): Promise<Admission | undefined> => {
  if (options === undefined) return undefined
  const { serveAdmission } = await import('./admission/index.ts')
  const admission = serveAdmission(definitions, options, environment)
  signal.addEventListener('abort', () => detach('stopping the webhooks', admission.stop()), { once: true })
  try {
    await admission.serving
    return admission
  } catch (error) {
    await admission.stop()
    throw error
  }
}
