/** The daemon of one AdapterTask: loads the task, works on it, begins anew when it changes, and writes its status. */
import type { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { messageOf } from '#operator/client/errors.ts'
import { impersonating, serviceAccountUser } from '#operator/client/impersonation.ts'
import type { RestMapper } from '#operator/client/rest-mapper.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { ObjectDeletedError } from '#operator/engine/object-scope.ts'
import { formatDuration, toMilliseconds } from '#operator/model/duration.ts'
import { selectorOf } from '#operator/model/selector.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import type { Access } from '../access.ts'
import type { DeadLetter } from '../events/source.ts'
import { HttpClient } from '../http/client.ts'
import { type HttpConnection, openHttpConnection } from '../http/connection.ts'
import { taskLanguages } from '../language/task-languages.ts'
import type { Metrics } from '../metrics.ts'
import type { RunHistory } from '../runs/run-history.ts'
import type { StatusInput } from '../status.ts'
import type { Task } from '../task/task.ts'
import { InvalidTaskError } from '../task/task-problems.ts'
import { MAX_RESPONSE_CHARS } from '../transports/http.ts'
import { guardedLookup } from '../transports/http-allowlist.ts'
import { connectApi, createEventSource } from './connect.ts'
import { retryWithBackoff } from './retry-with-backoff.ts'
import { StatusWriter } from './status-writer.ts'
import { readTask } from './task-reader.ts'
import { TaskStats } from './task-stats.ts'
import { Worker } from './worker.ts'

export interface TaskDaemonDeps {
  readonly metrics: Metrics
  /** Of this program, for `User-Agent`. */
  readonly version: string
  readonly access: Access
  /** What the API server serves, shared by all tasks. */
  kinds(context: DaemonContext<AdapterTask>): RestMapper
  readonly history: RunHistory
  /** Rung when the spec of a task has changed, by uid. */
  readonly reloadSignals: Map<string, WakeSignal>
}

/** A task to run, and everything that decides how, as text. */
interface LoadedTask {
  readonly task: Task
  readonly text: string
}

/** How often the ConfigMap of a `taskRef` is read, in milliseconds. */
const RELOAD_INTERVAL_MS = 15_000

export const taskDaemon =
  (deps: TaskDaemonDeps) =>
  async (context: DaemonContext<AdapterTask>): Promise<void> => {
    const tending = new TaskDaemon(deps, context)
    await tending.run()
  }

class TaskDaemon {
  readonly #deps: TaskDaemonDeps
  readonly #context: DaemonContext<AdapterTask>
  readonly #reload: WakeSignal
  readonly statusChanged: WakeSignal
  readonly stats: TaskStats
  readonly statusWriter: StatusWriter
  #worker: Worker | undefined
  #invalid: StatusInput['invalid']
  #generation: number | undefined
  #brokenOff: string | undefined

  constructor(deps: TaskDaemonDeps, context: DaemonContext<AdapterTask>) {
    this.#deps = deps
    this.#context = context
    this.#reload = new WakeSignal(context.clock)
    this.statusChanged = new WakeSignal(context.clock)
    this.statusWriter = new StatusWriter(context, () => this.statusInput)
    const { processed = 0, failed = 0, skipped = 0, deadLetters = 0 } = context.status ?? {}
    this.stats = new TaskStats({ processed, failed, skipped, deadLetters })
  }

  async run(): Promise<void> {
    const { reloadSignals: wakeSignals } = this.#deps
    const { uid } = this.#context.object.metadata
    wakeSignals.set(uid, this.#reload)
    const ended = new AbortController()
    const reporting = this.statusWriter.run(this.statusChanged, AbortSignal.any([this.#context.signal, ended.signal]))
    try {
      await this.followSpec()
    } finally {
      ended.abort()
      await reporting
      wakeSignals.delete(uid)
      await this.statusWriter.write()
      if (this.#context.signal.reason instanceof ObjectDeletedError) await this.#removeGroup()
      this.#deps.history.forget(this.taskKey.namespace, this.taskKey.task)
    }
  }

  /** Works on the task as it is written now, and anew when that has changed. */
  async followSpec(): Promise<void> {
    const { signal, log } = this.#context
    let running: { readonly text: string; readonly end: AbortController; readonly ended: Promise<void> } | undefined
    while (!signal.aborted) {
      let wanted: LoadedTask | undefined
      try {
        wanted = await this.loadTask()
      } catch (error) {
        if (running === undefined) throw error
        if (!signal.aborted) log.warn('the task could not be read again, the work goes on as it was', { err: error })
        await this.#reload.wait(RELOAD_INTERVAL_MS, signal)
        continue
      }
      const text = wanted === undefined ? '' : wanted.text
      if (running !== undefined && running.text !== text) {
        running.end.abort(new Error('the task has changed'))
        await running.ended
        running = undefined
        this.#worker = undefined
      }
      if (running === undefined && wanted !== undefined) {
        const end = new AbortController()
        const both = AbortSignal.any([signal, end.signal])
        const ended = this.runWithRetries(wanted.task, both)
        running = { text, end, ended }
      }
      this.statusChanged.wake()
      await this.#reload.wait(RELOAD_INTERVAL_MS, signal)
    }
    await running?.ended
  }

  /** Works on a task until it is told to end, whatever breaks it off. */
  async runWithRetries(task: Task, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#context
    const isReported = (error: unknown, pause: number) => {
      log.error('the work on a task broke off and begins again', { err: error, pause })
      this.#worker = undefined
      this.#brokenOff = `the work broke off: ${messageOf(error)}; it begins again in ${formatDuration(pause)}`
      this.statusChanged.wake()
    }
    try {
      await retryWithBackoff(() => this.runWorker(task, signal), { clock, signal, onFailure: isReported })
    } catch (error) {
      log.error('the work on a task did not end well', { err: error })
    }
    this.#brokenOff = undefined
  }

  /** What to run; undefined when there is nothing to run. @throws what the API server failed with */
  async loadTask(): Promise<LoadedTask | undefined> {
    const { spec, object } = this.#context
    const { generation } = object.metadata
    try {
      const { task, text, problem } = await readTask(spec, {
        api: impersonatedApi(this.#context),
        namespace: this.#context.namespace ?? 'default',
        access: this.#deps.access,
        languages: taskLanguages(() => this.#context.clock.now()),
        signal: this.#context.signal,
      })
      this.#generation = generation
      this.recordValidity(problem, 'deletions')
      return spec.suspend === true ? undefined : { task, text: JSON.stringify(spec) + text }
    } catch (error) {
      const isInvalid = error instanceof InvalidTaskError
      // Nothing of a suspended task is run, whatever is in it.
      if (!isInvalid && spec.suspend !== true) throw error
      this.#generation = generation
      if (isInvalid) this.recordValidity(error, 'everything')
      return undefined
    }
  }

  /** @param waits what is not done until the problem is mended */
  recordValidity(problem: InvalidTaskError | undefined, waits: 'everything' | 'deletions'): void {
    const { log, events } = this.#context
    if (problem !== undefined && this.#invalid?.message !== problem.message) {
      log.warn('the task is invalid', { problem: problem.message })
      events.warning('InvalidTask', problem.message.slice(0, 1_000))
    }
    this.#invalid = problem && { message: problem.message, blocks: waits }
  }

  async runWorker(task: Task, signal: AbortSignal): Promise<void> {
    const { metrics, access, kinds } = this.#deps
    const { spec, object, clock, log, events } = this.#context
    const { connection: own, caller, timeoutMs: limit } = connectApi(spec, this.#userAgent, clock)
    const others = openHttpConnection({
      userAgent: this.#userAgent,
      maxResponseChars: MAX_RESPONSE_CHARS,
      lookup: guardedLookup,
    })
    const worker = new Worker({
      task,
      selector: selectorOf(spec.selector ?? {}),
      source: await createEventSource(object, caller, (letter) => this.recordDeadLetter(letter)),
      apiClient: caller,
      externalClient: new HttpClient({ roundTrip: others.roundTrip, clock, timeoutMs: limit }),
      transport: impersonatedApi(this.#context).transport,
      kinds: kinds(this.#context),
      access,
      config: {
        adapter: { name: task.adapter.name, version: task.adapter.version },
        clients: { hyperfleet_api: { base_url: spec.hyperfleetAPI.url, version: 'v1' } },
      },
      maxConcurrent: spec.events.maxConcurrent,
      visibilityMs: toMilliseconds(spec.events.visibility),
      stats: this.stats,
      metrics,
      clock,
      log: log.child({ adapter: task.adapter.name }),
      onStatusChange: () => this.statusChanged.wake(),
      onRunEnd: (resource, trace) =>
        this.#deps.history.record({ ...this.taskKey, adapter: task.adapter.name, resource, trace }),
      onHealthChange: ({ event, failures }, isFailing) => {
        const { id = '' } = event as { readonly id?: string }
        if (isFailing) events.warning('RunFailed', `${id}: ${failures[0]?.message ?? 'failed'}`.slice(0, 1_000))
        else events.normal('RunRecovered', `${id}: the last run did not fail`)
      },
    })
    this.#worker = worker
    this.#brokenOff = undefined
    this.statusChanged.wake()
    try {
      await worker.run(signal)
    } finally {
      await closeAll(own, others)
    }
  }

  /** Events would wait for a task that is gone. A group that the spec names may be somebody else's too, and stays. */
  async #removeGroup(): Promise<void> {
    const { spec, object, clock, log } = this.#context
    if (spec.events.consumer !== undefined) return
    const { connection: own, caller } = connectApi(spec, this.#userAgent, clock)
    const source = await createEventSource(object, caller, () => {})
    try {
      await source.remove(AbortSignal.timeout(GROUP_REMOVAL_TIMEOUT_MS))
    } catch (error) {
      log.warn('the consumer group of a deleted task stays: delete it at the API', {
        problem: messageOf(error),
      })
    } finally {
      await source.close()
      await own.close()
    }
  }

  recordDeadLetter(letter: DeadLetter): void {
    const { log, events, spec } = this.#context
    log.warn('a message is no event and was set aside', { ...letter })
    events.warning('DeadLetter', letter.problem)
    this.#deps.metrics.deadLetters.inc({ adapter_name: spec.adapter.name })
    this.stats.deadLetters++
    this.statusChanged.wake()
  }

  get #userAgent(): string {
    return `muster-adapter/${this.#deps.version} (${this.#context.name})`
  }

  get taskKey(): { readonly namespace: string; readonly task: string } {
    const { namespace = 'default', name } = this.#context
    return { namespace, task: name }
  }

  get statusInput(): StatusInput {
    const worker = this.#worker
    return {
      generation: this.#generation,
      invalid: this.#invalid,
      suspended: this.#context.spec.suspend === true,
      failure: this.#brokenOff,
      connected: worker?.connected ?? false,
      sourceProblem: worker?.sourceProblem,
      unwatchedKinds: worker?.unwatchedKinds ?? new Map(),
      inFlight: worker?.inFlight ?? 0,
      summary: this.stats.summary(this.#context.clock.now().getTime()),
      lastRuns: this.#deps.history.list(this.taskKey, STATUS_RUN_COUNT),
    }
  }
}

/** Runs that the status shows. */
const STATUS_RUN_COUNT = 5
/** How long the API may take over the group of a task that is gone, in milliseconds. */
const GROUP_REMOVAL_TIMEOUT_MS = 5_000

/** The API server in the name of the task's ServiceAccount. */
const impersonatedApi = ({ api, spec, namespace = 'default' }: DaemonContext<AdapterTask>) => ({
  transport: impersonating(api.transport, serviceAccountUser(namespace, spec.serviceAccountName)),
})

const closeAll = async (...exchanges: readonly HttpConnection[]): Promise<void> => {
  await Promise.all(exchanges.map((exchange) => exchange.close()))
}
