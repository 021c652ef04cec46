/** The daemon of one AdapterTask: loads the task, runs a worker for it, restarts that when the task changes, and writes the status. */

import type { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { ObjectDeletedError } from '#operator/engine/object-scope.ts'
import { formatBrakeRecord, monotonicTimes, parseBrakeRecord } from '#operator/model/brake-record.ts'
import { monotonic } from '#operator/model/clock.ts'
import { isTrue } from '#operator/model/conditions.ts'
import { formatDuration, toMilliseconds } from '#operator/model/duration.ts'
import { selectorOf } from '#operator/model/selector.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import type { DeadLetter } from '../events/source.ts'
import { ApiTime } from '../http/api-time.ts'
import type { Metrics } from '../metrics.ts'
import type { RequiredCondition } from '../required/compare-required.ts'
import type { RunHistory } from '../runs/run-history.ts'
import type { StatusInput } from '../status.ts'
import type { Task } from '../task/task.ts'
import { ApiRefusals } from './api-refusals.ts'
import { createEventSource } from './connect.ts'
import { type ConnectionDeps, connectTask } from './connect-task.ts'
import {
  describeHeld,
  type HeldResources,
  InferredDeletions,
  RELEASE_ANNOTATION,
  recallBegun,
  recordBegun,
} from './inferred-deletions.ts'
import { leaveTask } from './leave-task.ts'
import { retryWithBackoff } from './retry-with-backoff.ts'
import { StatusWriter } from './status-writer.ts'
import { type LoadedTask, TaskLoader } from './task-loader.ts'
import { TaskStats } from './task-stats.ts'
import { Worker } from './worker.ts'

export interface TaskDaemonDeps extends ConnectionDeps {
  readonly metrics: Metrics
  readonly history: RunHistory
  /** Woken when the spec of a task has changed, by uid. */
  readonly reloadSignals: Map<string, WakeSignal>
  /** Whether the HyperFleet API requires the adapter of a task; undefined where that is not looked at. */
  required(task: AdapterTask): RequiredCondition | undefined
}

/** How often the ConfigMap of a `taskRef` is read. */
const RELOAD_INTERVAL_MS = 15_000

/** Of several managers one works on a task, and the others stand by. */
export const taskLease = ({ metadata }: AdapterTask): { name: string; namespace: string } => ({
  name: `adapter-${metadata.name}`,
  namespace: metadata.namespace ?? 'default',
})

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
  readonly #brake: InferredDeletions
  /** Of the HyperFleet API: what a run reports must be of its time. */
  readonly #time: ApiTime
  readonly #loader: TaskLoader
  #worker: Worker | undefined
  /** Of the worker. */
  #refusals: ApiRefusals | undefined
  #failure: string | undefined

  constructor(deps: TaskDaemonDeps, context: DaemonContext<AdapterTask>) {
    this.#deps = deps
    this.#context = context
    this.#reload = new WakeSignal(context.clock)
    this.#statusChanged = new WakeSignal(context.clock)
    this.#time = new ApiTime(context.clock)
    this.#loader = new TaskLoader(deps, context, this.#time)
    this.#statusWriter = new StatusWriter(context, () => this.#statusInput)
    const { processed = 0, failed = 0, skipped = 0, deadLetters = 0 } = context.status ?? {}
    this.#stats = new TaskStats({ processed, failed, skipped, deadLetters })
    this.#brake = new InferredDeletions({
      released: () => context.object.metadata.annotations?.[RELEASE_ANNOTATION],
      now: () => monotonic(context.clock),
      onChange: (held) => this.#recordHeld(held),
      soon: new WakeSignal(context.clock),
      record: () => this.#recordDeletions(),
      before: {
        recent: parseBrakeRecord(context.status?.recentDeletions ?? undefined, monotonic(context.clock)),
        begun: recallBegun(context.status?.begunDeletions, monotonic(context.clock)),
        isHolding: isTrue(context.status?.conditions ?? undefined, 'DeletionsHeld'),
      },
    })
  }

  async run(): Promise<void> {
    const { reloadSignals } = this.#deps
    const { uid } = this.#context.object.metadata
    reloadSignals.set(uid, this.#reload)
    const scope = new AbortScope(this.#context.signal)
    const statusWriting = this.#statusWriter.run(this.#statusChanged, scope.signal)
    try {
      await this.#followSpec()
    } finally {
      scope.abort()
      await statusWriting
      reloadSignals.delete(uid)
      this.#deps.metrics.deletionsHeld.remove(this.#metricLabels)
      await this.#statusWriter.write()
      if (this.#context.signal.reason instanceof ObjectDeletedError) {
        await leaveTask(this.#context, this.#deps, this.#loader.lastTask)
      }
      this.#deps.history.forget(this.#taskKey.namespace, this.#taskKey.task)
    }
  }

  /** Runs a worker for the task as it is written now, and another one when that has changed. */
  async #followSpec(): Promise<void> {
    const { signal, log } = this.#context
    let running: { readonly text: string; readonly end: AbortScope; readonly ended: Promise<void> } | undefined
    while (!signal.aborted) {
      let loaded: LoadedTask | undefined
      try {
        loaded = await this.#loader.load()
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
        const end = new AbortScope(signal)
        const ended = this.#runWithRetries(loaded.task, end.signal)
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

  async #runWorker(task: Task, signal: AbortSignal): Promise<void> {
    const { metrics } = this.#deps
    const { spec, object, events } = this.#context
    const refusals = new ApiRefusals(() => this.#statusChanged.wake())
    const connections = connectTask(this.#context, this.#deps, task, this.#time, (outcome) => refusals.record(outcome))
    const worker = new Worker({
      ...connections.runner,
      selector: selectorOf(spec.selector ?? {}),
      resourceType: spec.resourceType,
      retention: spec.retention,
      brake: this.#brake,
      source: await createEventSource(object, connections.runner.apiClient, this.#deps.access, (letter) =>
        this.#recordDeadLetter(letter),
      ),
      maxConcurrent: spec.events.maxConcurrent,
      visibilityMs: toMilliseconds(spec.events.visibility),
      stats: this.#stats,
      metrics,
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
    this.#refusals = refusals
    this.#failure = undefined
    this.#statusChanged.wake()
    try {
      await worker.run(signal)
    } finally {
      await connections.close()
    }
  }

  #recordHeld(held: HeldResources | undefined): void {
    const { log, events } = this.#context
    this.#deps.metrics.deletionsHeld.set(this.#metricLabels, held?.deletions.length ?? 0)
    if (held !== undefined) {
      const message = describeHeld(held)
      log.warn('adapter: many resources are gone or not selected any more, what was applied for them is held', {
        problem: message,
      })
      // An Event has at most 1,024 characters, and its end says what releases them.
      events.warning('DeletionsHeld', describeHeld(held, EVENT_NAMES))
    }
    this.#statusChanged.wake()
  }

  /** The next process counts on from the status: RUNTIME-71. @throws Error */
  async #recordDeletions(): Promise<void> {
    if (!(await this.#statusWriter.write()))
      throw new Error('the status, where deletions are counted, could not be written; nothing is deleted before that')
  }

  #recordDeadLetter(letter: DeadLetter): void {
    const { log, events, spec } = this.#context
    log.warn('adapter: a message is set aside as a dead letter', { ...letter })
    events.warning('DeadLetter', letter.problem)
    this.#deps.metrics.deadLetters.inc({ adapter_name: spec.adapter.name })
    this.#stats.deadLetters++
    this.#statusChanged.wake()
  }

  get #metricLabels(): { readonly adapter_name: string } {
    return { adapter_name: this.#context.spec.adapter.name }
  }

  get #taskKey(): { readonly namespace: string; readonly task: string } {
    const { namespace = 'default', name } = this.#context
    return { namespace, task: name }
  }

  get #statusInput(): StatusInput {
    const worker = this.#worker
    return {
      generation: this.#loader.generation,
      invalid: this.#loader.invalid,
      suspended: this.#context.spec.suspend === true,
      failure: this.#failure,
      connected: worker?.connected ?? false,
      sourceProblem: worker?.sourceProblem,
      refusal: worker && this.#refusals?.problem,
      unwatchedKinds: worker?.unwatchedKinds ?? new Map(),
      forbidden: this.#stats.forbidden,
      held: this.#brake.held && describeHeld(this.#brake.held),
      required: this.#deps.required(this.#context.object),
      recentDeletions: formatBrakeRecord(this.#brake.recent, monotonicTimes(this.#context.clock)),
      begunDeletions: recordBegun(this.#brake.begun, monotonicTimes(this.#context.clock)),
      inFlight: worker?.inFlight ?? 0,
      summary: this.#stats.summary(this.#context.clock.now().getTime()),
      lastRuns: this.#deps.history.list(this.#taskKey, STATUS_RUN_COUNT),
    }
  }
}

/** Names of held resources in an Event. */
const EVENT_NAMES = 5
/** Runs that the status shows. */
const STATUS_RUN_COUNT = 5
