/** The daemon of one AdapterTask: loads the task, runs a worker for it, restarts that when the task changes, and writes the status. */
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
import { openHttpConnection } from '../http/connection.ts'
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
  /** Woken when the spec of a task has changed, by uid. */
  readonly reloadSignals: Map<string, WakeSignal>
}

/** A task to run, and everything that decides how, as text. */
interface LoadedTask {
  readonly task: Task
  readonly text: string
}

/** How often the ConfigMap of a `taskRef` is read. */
const RELOAD_INTERVAL_MS = 15_000

export const taskDaemon =
  (deps: TaskDaemonDeps) =>
  async (context: DaemonContext<AdapterTask>): Promise<void> => {
    await new TaskDaemon(deps, context).run()
  }

class TaskDaemon {
  readonly #deps: TaskDaemonDeps
  readonly #context: DaemonContext<AdapterTask>
  readonly #reload: WakeSignal
  readonly #statusChanged: WakeSignal
  readonly #stats: TaskStats
  readonly #statusWriter: StatusWriter
  #worker: Worker | undefined
  #invalid: StatusInput['invalid']
  #generation: number | undefined
  #failure: string | undefined

  constructor(deps: TaskDaemonDeps, context: DaemonContext<AdapterTask>) {
    this.#deps = deps
    this.#context = context
    this.#reload = new WakeSignal(context.clock)
    this.#statusChanged = new WakeSignal(context.clock)
    this.#statusWriter = new StatusWriter(context, () => this.#statusInput)
    const { processed = 0, failed = 0, skipped = 0, deadLetters = 0 } = context.status ?? {}
    this.#stats = new TaskStats({ processed, failed, skipped, deadLetters })
  }

  async run(): Promise<void> {
    const { reloadSignals } = this.#deps
    const { uid } = this.#context.object.metadata
    reloadSignals.set(uid, this.#reload)
    const ended = new AbortController()
    const statusWriting = this.#statusWriter.run(
      this.#statusChanged,
      AbortSignal.any([this.#context.signal, ended.signal]),
    )
    try {
      await this.#followSpec()
    } finally {
      ended.abort()
      await statusWriting
      reloadSignals.delete(uid)
      await this.#statusWriter.write()
      if (this.#context.signal.reason instanceof ObjectDeletedError) await this.#removeGroup()
      this.#deps.history.forget(this.#taskKey.namespace, this.#taskKey.task)
    }
  }

  /** Runs a worker for the task as it is written now, and another one when that has changed. */
  async #followSpec(): Promise<void> {
    const { signal, log } = this.#context
    let running: { readonly text: string; readonly end: AbortController; readonly ended: Promise<void> } | undefined
    while (!signal.aborted) {
      let loaded: LoadedTask | undefined
      try {
        loaded = await this.#loadTask()
      } catch (error) {
        if (running === undefined) throw error
        if (!signal.aborted)
          log.warn('adapter: the task could not be read again, the worker continues with the last one', { err: error })
        await this.#reload.wait(RELOAD_INTERVAL_MS, signal)
        continue
      }
      const text = loaded?.text ?? ''
      if (running !== undefined && running.text !== text) {
        running.end.abort(new Error('the task has changed'))
        await running.ended
        running = undefined
        this.#worker = undefined
      }
      if (running === undefined && loaded !== undefined) {
        const end = new AbortController()
        const both = AbortSignal.any([signal, end.signal])
        const ended = this.#runWithRetries(loaded.task, both)
        running = { text, end, ended }
      }
      this.#statusChanged.wake()
      await this.#reload.wait(RELOAD_INTERVAL_MS, signal)
    }
    await running?.ended
  }

  /** Runs a worker until the signal aborts, again after each failure: ADAPTER-23. */
  async #runWithRetries(task: Task, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#context
    const onFailure = (error: unknown, delayMs: number) => {
      log.error('adapter: the worker of a task failed, starting it again', { err: error, delayMs })
      this.#worker = undefined
      this.#failure = `the worker failed: ${messageOf(error)}; it is started again in ${formatDuration(delayMs)}`
      this.#statusChanged.wake()
    }
    try {
      await retryWithBackoff(() => this.#runWorker(task, signal), { clock, signal, onFailure })
    } catch (error) {
      log.error('adapter: the worker of a task failed while it was stopped', { err: error })
    }
    this.#failure = undefined
  }

  /** What to run; undefined when there is nothing to run. @throws what the API server failed with */
  async #loadTask(): Promise<LoadedTask | undefined> {
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
      this.#recordValidity(problem, 'deletions')
      return spec.suspend === true ? undefined : { task, text: JSON.stringify(spec) + text }
    } catch (error) {
      const isInvalid = error instanceof InvalidTaskError
      // Nothing of a suspended task is run, whatever is in it.
      if (!isInvalid && spec.suspend !== true) throw error
      this.#generation = generation
      if (isInvalid) this.#recordValidity(error, 'everything')
      return undefined
    }
  }

  /** @param blocks what is not done until the task is corrected */
  #recordValidity(problem: InvalidTaskError | undefined, blocks: 'everything' | 'deletions'): void {
    const { log, events } = this.#context
    if (problem !== undefined && this.#invalid?.message !== problem.message) {
      log.warn('adapter: the task is invalid, waiting for a change of it', { problem: problem.message })
      events.warning('InvalidTask', problem.message.slice(0, 1_000))
    }
    this.#invalid = problem && { message: problem.message, blocks }
  }

  async #runWorker(task: Task, signal: AbortSignal): Promise<void> {
    const { metrics, access, kinds } = this.#deps
    const { spec, object, clock, log, events } = this.#context
    const { connection, caller, timeoutMs } = connectApi(spec, this.#userAgent, clock)
    const external = openHttpConnection({
      userAgent: this.#userAgent,
      maxResponseChars: MAX_RESPONSE_CHARS,
      lookup: guardedLookup,
    })
    const worker = new Worker({
      task,
      selector: selectorOf(spec.selector ?? {}),
      source: await createEventSource(object, caller, (letter) => this.#recordDeadLetter(letter)),
      apiClient: caller,
      externalClient: new HttpClient({ roundTrip: external.roundTrip, clock, timeoutMs }),
      transport: impersonatedApi(this.#context).transport,
      kinds: kinds(this.#context),
      access,
      config: {
        adapter: { name: task.adapter.name, version: task.adapter.version },
        clients: { hyperfleet_api: { base_url: spec.hyperfleetAPI.url, version: 'v1' } },
      },
      maxConcurrent: spec.events.maxConcurrent,
      visibilityMs: toMilliseconds(spec.events.visibility),
      stats: this.#stats,
      metrics,
      clock,
      log: log.child({ adapter: task.adapter.name }),
      onStatusChange: () => this.#statusChanged.wake(),
      onRunEnd: (resource, trace) =>
        this.#deps.history.record({ ...this.#taskKey, adapter: task.adapter.name, resource, trace }),
      onHealthChange: ({ event, failures }, isFailing) => {
        const { id = '' } = event as { readonly id?: string }
        if (isFailing) events.warning('RunFailed', `${id}: ${failures[0]?.message ?? 'failed'}`.slice(0, 1_000))
        else events.normal('RunRecovered', `${id}: the last run did not fail`)
      },
    })
    this.#worker = worker
    this.#failure = undefined
    this.#statusChanged.wake()
    try {
      await worker.run(signal)
    } finally {
      await Promise.all([connection.close(), external.close()])
    }
  }

  /** Events would wait for a task that is gone. A group that the spec names stays, as other tasks may use it: ADAPTER-21. */
  async #removeGroup(): Promise<void> {
    const { spec, object, clock, log } = this.#context
    if (spec.events.consumer !== undefined) return
    const { connection, caller } = connectApi(spec, this.#userAgent, clock)
    const source = await createEventSource(object, caller, () => {})
    try {
      await source.remove(AbortSignal.timeout(GROUP_REMOVAL_TIMEOUT_MS))
    } catch (error) {
      log.warn('adapter: the consumer group of a deleted task could not be removed, delete it at the API', {
        problem: messageOf(error),
      })
    } finally {
      await source.close()
      await connection.close()
    }
  }

  #recordDeadLetter(letter: DeadLetter): void {
    const { log, events, spec } = this.#context
    log.warn('adapter: a message is not an event, it is kept as a dead letter', { ...letter })
    events.warning('DeadLetter', letter.problem)
    this.#deps.metrics.deadLetters.inc({ adapter_name: spec.adapter.name })
    this.#stats.deadLetters++
    this.#statusChanged.wake()
  }

  get #userAgent(): string {
    return `muster-adapter/${this.#deps.version} (${this.#context.name})`
  }

  get #taskKey(): { readonly namespace: string; readonly task: string } {
    const { namespace = 'default', name } = this.#context
    return { namespace, task: name }
  }

  get #statusInput(): StatusInput {
    const worker = this.#worker
    return {
      generation: this.#generation,
      invalid: this.#invalid,
      suspended: this.#context.spec.suspend === true,
      failure: this.#failure,
      connected: worker?.connected ?? false,
      sourceProblem: worker?.sourceProblem,
      unwatchedKinds: worker?.unwatchedKinds ?? new Map(),
      inFlight: worker?.inFlight ?? 0,
      summary: this.#stats.summary(this.#context.clock.now().getTime()),
      lastRuns: this.#deps.history.list(this.#taskKey, STATUS_RUN_COUNT),
    }
  }
}

/** Runs that the status shows. */
const STATUS_RUN_COUNT = 5
/** How long the API may take to remove the group of a deleted task. */
const GROUP_REMOVAL_TIMEOUT_MS = 5_000

/** The API server in the name of the task's ServiceAccount. */
const impersonatedApi = ({ api, spec, namespace = 'default' }: DaemonContext<AdapterTask>) => ({
  transport: impersonating(api.transport, serviceAccountUser(namespace, spec.serviceAccountName)),
})
