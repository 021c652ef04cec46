/**
 * Works on one task until its signal aborts:
 *
 *   intake:  source ─► KeyedQueue ─► run ─► acknowledge | give back
 *   extend:  the visibility of deliveries that wait or are worked on
 *   watch:   an applied object changes ─► KeyedQueue
 *   forget:  resources that are gone without an event
 */

import type { Trace, TracedRequest } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { RestMapper } from '#operator/client/rest-mapper.ts'
import type { Transport as ApiTransport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { matches, type Selector } from '#operator/model/selector.ts'
import type { Access } from '../access.ts'
import { hrefOf, type ReconcileEvent } from '../events/reconcile-event.ts'
import type { EventSource } from '../events/source.ts'
import type { HttpClient } from '../http/client.ts'
import { countRun, type Metrics } from '../metrics.ts'
import { ApiReader } from '../run/api-reader.ts'
import { Redactor } from '../run/redactor.ts'
import { ReportDedup } from '../run/report-dedup.ts'
import { type RunResult, run } from '../run/run.ts'
import type { JsonObject, Task } from '../task/task.ts'
import { httpTransport } from '../transports/http.ts'
import { kubernetesTransport } from '../transports/kubernetes.ts'
import type { ResourceTransports } from '../transports/transport.ts'
import { AppliedObjects } from '../watch/applied-objects.ts'
import { EventIntake } from './event-intake.ts'
import { forgetDeleted } from './forget-deleted.ts'
import { KeyedQueue, type WorkItem } from './keyed-queue.ts'
import type { TaskStats } from './task-stats.ts'

export interface WorkerOptions {
  readonly task: Task
  readonly selector: Selector
  readonly source: EventSource
  /** Of the HyperFleet API, with the task's token. */
  readonly apiClient: HttpClient
  /** Of other services, without it. */
  readonly externalClient: HttpClient
  /** In the name of the task's ServiceAccount. */
  readonly transport: ApiTransport
  readonly kinds: RestMapper
  readonly access: Access
  readonly config: JsonObject
  readonly maxConcurrent: number
  /** Milliseconds. */
  readonly visibilityMs: number
  readonly stats: TaskStats
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
  /** Something that the status shows has changed. */
  onStatusChange(): void
  /** A run has ended. */
  onRunEnd(resource: string, trace: Trace): void
  /** The runs of a resource fail now, or fail no longer. */
  onHealthChange(trace: Trace, isFailing: boolean): void
}

/** How long an event waits that was given back because its outcome could not be reported. */
const GIVE_BACK_DELAY_MS = 5_000
/** How often an HTTP service is asked whether a deletion is done: nothing there can be watched. ADAPTER-56. */
const HTTP_DELETION_POLL_MS = 2_000
/** Events are taken ahead of runs, so that several for one resource become one run. */
const PREFETCH_FACTOR = 2

export class Worker {
  readonly #options: WorkerOptions
  readonly #queue: KeyedQueue
  readonly #intake: EventIntake
  readonly #reportDedup = new ReportDedup()
  /** Resources with something left at an HTTP service. */
  readonly #polling = new Set<string>()
  /** Of the present `run`. */
  #signal = AbortSignal.abort()
  #transports: ResourceTransports | undefined
  readonly unwatchedKinds = new Map<string, string>()

  constructor(options: WorkerOptions) {
    this.#options = options
    const { source, maxConcurrent, clock, log } = options
    this.#queue = new KeyedQueue({
      maxConcurrent: () => maxConcurrent,
      onCapacity: () => this.#intake.wake(),
      work: (item) => this.#process(item),
    })
    this.#intake = new EventIntake({
      source,
      freeCapacity: () => maxConcurrent * PREFETCH_FACTOR - this.#queue.running - this.#queue.waiting,
      onDelivery: (delivery) => this.#queue.add(delivery.event, delivery),
      onStatusChange: () => options.onStatusChange(),
      clock,
      log,
    })
  }

  /** Events were requested and the source answered. */
  get connected(): boolean {
    return this.#intake.connected
  }

  /** Why events can't be taken; undefined when they can. */
  get sourceProblem(): string | undefined {
    return this.#intake.problem
  }

  get inFlight(): number {
    return this.#queue.running
  }

  /**
   * Works until the signal aborts; runs that are under way are aborted too, and their events given back.
   * @throws what one of its loops failed with; the others have ended then
   */
  async run(until: AbortSignal): Promise<void> {
    const { source, metrics, task, stats, clock } = this.#options
    const labels = { adapter_name: task.adapter.name }
    const failed = new AbortController()
    const signal = AbortSignal.any([until, failed.signal])
    this.#signal = signal
    const applied = this.#createAppliedObjects(signal)
    this.#transports = this.#createTransports(applied)
    metrics.up.set(labels, 1)
    metrics.stuck.set(task.adapter.name, () => stats.stuck(clock.now().getTime()))
    const loops = [this.#intake.run(signal), this.#extendDeliveries(signal, applied), this.#forgetDeleted(signal)]
    try {
      await Promise.all(loops)
    } catch (error) {
      failed.abort(error)
      await Promise.allSettled(loops)
      throw error
    } finally {
      const waiting = await this.#queue.close()
      await Promise.all(waiting.map((delivery) => delivery.giveBack(0)))
      await applied.stopped()
      await source.close()
      metrics.up.set(labels, 0)
      metrics.stuck.delete(task.adapter.name)
    }
  }

  #createAppliedObjects(signal: AbortSignal): AppliedObjects {
    const { transport, task, stats, clock, log, onStatusChange } = this.#options
    return new AppliedObjects({
      transport,
      adapter: task.adapter.name,
      isBusy: (id) => this.#queue.isRunning(id),
      isDeleting: (id) => stats.isDeleting(id),
      onChange: (event) => this.#queue.add(event),
      onWatchProblem: (kind, problem) => {
        if (problem === undefined) this.unwatchedKinds.delete(kind)
        else this.unwatchedKinds.set(kind, problem)
        onStatusChange()
      },
      clock,
      log,
      signal,
    })
  }

  #createTransports(applied: AppliedObjects): ResourceTransports {
    const { transport, kinds, task, externalClient, access } = this.#options
    return {
      kubernetes: kubernetesTransport({
        transport,
        kinds,
        fieldManager: `muster-adapter-${task.adapter.name}`,
        // Also for objects that are only deleted: a manager that takes a deletion over has to see it end.
        onUse: (resource, namespace) => applied.ensureWatched(resource, namespace),
        onApplied: (object) => applied.recordOwnWrite(object),
      }),
      http: httpTransport(externalClient, access.httpAllowlist),
    }
  }

  async #extendDeliveries(signal: AbortSignal, applied: AppliedObjects): Promise<void> {
    const { visibilityMs, clock } = this.#options
    while (!signal.aborted) {
      await clock.sleep(visibilityMs / 3, signal)
      if (!signal.aborted) await Promise.all(this.#queue.deliveries.map((delivery) => delivery.extend()))
      this.#reportDedup.dropExpired(clock.now().getTime())
      applied.stopIdleWatches()
    }
  }

  #forgetDeleted(signal: AbortSignal): Promise<void> {
    const { stats, apiClient, clock, onStatusChange } = this.#options
    return forgetDeleted({
      stats,
      apiClient,
      isSelected: (resource) => this.#isSelected(resource),
      onForgotten: () => {
        this.#updateDeletionGauge()
        onStatusChange()
      },
      clock,
      signal,
    })
  }

  #isSelected({ labels }: JsonObject): boolean {
    return matches(this.#options.selector, (labels ?? {}) as Record<string, string>)
  }

  async #process({ event, deliveries }: WorkItem): Promise<void> {
    const { stats, log, metrics, task, clock, onStatusChange } = this.#options
    const id = event.data.id
    metrics.inFlight.inc({ adapter_name: task.adapter.name })
    try {
      const result = await this.#run(event)
      this.#recordRun(id, result)
      if (this.#needsPolling(result)) void this.#pollLater(event)
      await Promise.all(
        deliveries.map((delivery) =>
          result.isReported ? delivery.acknowledge() : delivery.giveBack(GIVE_BACK_DELAY_MS),
        ),
      )
    } catch (error) {
      if (!this.#signal.aborted) {
        const problem = error instanceof Error ? error.message : String(error)
        log.error('adapter: a run failed unexpectedly, its events come again', { resource: id, err: error })
        stats.recordAbortedRun(id, problem)
      }
      await Promise.all(deliveries.map((delivery) => delivery.giveBack(this.#signal.aborted ? 0 : GIVE_BACK_DELAY_MS)))
    } finally {
      stats.recordEvent(event, clock.now().getTime())
      metrics.inFlight.dec({ adapter_name: task.adapter.name })
      onStatusChange()
    }
  }

  /** A deletion waits for an object that can't be watched. */
  #needsPolling({ remaining }: RunResult): boolean {
    return this.#options.task.resources.some(
      ({ name, transport }) => transport.kind === 'http' && remaining.includes(name),
    )
  }

  async #pollLater(event: ReconcileEvent): Promise<void> {
    const { id } = event.data
    if (this.#polling.has(id)) return
    this.#polling.add(id)
    const signal = this.#signal
    await this.#options.clock.sleep(HTTP_DELETION_POLL_MS, signal)
    this.#polling.delete(id)
    if (!signal.aborted) this.#queue.add(event)
  }

  #run(event: ReconcileEvent): Promise<RunResult> {
    const { task, apiClient, access, config, clock, log } = this.#options
    if (this.#transports === undefined) throw new Error('the worker is not running')
    const requests: TracedRequest[] = []
    const tracedClient = apiClient.withTracing((request) => requests.push(request), event.traceparent)
    return run({
      task,
      event,
      config,
      environment: access.environment,
      redactor: new Redactor(Object.values(access.environment)),
      isSelected: (resource) => this.#isSelected(resource),
      requests,
      context: {
        api: new ApiReader(tracedClient, hrefOf(event)),
        transports: this.#transports,
        reportDedup: this.#reportDedup,
        readFile: access.readFile,
        clock,
        log: log.child({ resource: event.data.id }),
        signal: this.#signal,
      },
    })
  }

  #recordRun(id: string, result: RunResult): void {
    const { stats, metrics, task, clock, log, onHealthChange } = this.#options
    const { trace } = result
    const wasFailing = stats.isFailing(id)
    const deletionMs = stats.recordRun(id, result, clock.now().getTime())
    const labels = { adapter_name: task.adapter.name }
    countRun(metrics, task.adapter.name, trace)
    this.#options.onRunEnd(id, trace)
    if (deletionMs !== undefined) metrics.deletionDuration.observe(labels, deletionMs / 1_000)
    this.#updateDeletionGauge()
    log.debug('adapter: a run ended', { resource: id, status: trace.status, mode: trace.mode, took: trace.duration })
    if (stats.isFailing(id) !== wasFailing) onHealthChange(trace, stats.isFailing(id))
  }

  #updateDeletionGauge(): void {
    const { metrics, task, stats, clock } = this.#options
    const { deleting } = stats.summary(clock.now().getTime())
    metrics.deletionsInProgress.set({ adapter_name: task.adapter.name }, deleting)
  }
}
