/**
 * Works on one task until it is told to end:
 *
 *   take:   source ─► lanes ─► run ─► acknowledge | give back
 *   keep:   what is held is kept hidden from others
 *   watch:  what was applied changes ─► lanes
 */

import type { Trace, TracedRequest } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { RestMapper } from '#operator/client/rest-mapper.ts'
import type { Transport as ApiTransport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { type ExponentialBackoff, exponentialDelay } from '#operator/model/outcome.ts'
import { matches, type Selector } from '#operator/model/selector.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import type { Access } from '../access.ts'
import { hrefOf, type ReconcileEvent } from '../events/reconcile-event.ts'
import type { EventSource } from '../events/source.ts'
import type { HttpClient } from '../http/client.ts'
import { countRun, type Metrics } from '../metrics.ts'
import { ApiReader, NothingToDoError } from '../run/api-reader.ts'
import { Redactor } from '../run/redactor.ts'
import { ReportDedup } from '../run/report-dedup.ts'
import { type RunResult, run } from '../run/run.ts'
import type { JsonObject, Task } from '../task/task.ts'
import { httpTransport } from '../transports/http.ts'
import { kubernetesTransport } from '../transports/kubernetes.ts'
import type { ResourceTransports } from '../transports/transport.ts'
import { AppliedObjects } from '../watch/applied-objects.ts'
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
  /** Something that the status tells has changed. */
  onStatusChange(): void
  /** A run has ended. */
  onRunEnd(resource: string, trace: Trace): void
  /** A run ended in another way than the one before it for this resource. */
  onHealthChange(trace: Trace, isFailing: boolean): void
}

/** After the source could not be reached, in milliseconds. */
const SOURCE_RETRY: ExponentialBackoff = { initial: 500, factor: 2, max: 30_000 }
/** How long an event waits that came to nothing because the API was away, in milliseconds. */
const GIVE_BACK_DELAY_MS = 5_000
/** How long the loop sleeps when it has nothing to do; a bell wakes it. */
const IDLE_WAIT_MS = 30_000
/** How often an HTTP service is asked whether what it was told to delete is gone, in milliseconds: nothing there can be watched. */
const HTTP_DELETION_POLL_MS = 2_000
/** How long nobody asks about a resource that fails or is in deletion before it is looked whether it is still there, in milliseconds. */
const UNHEARD_AFTER_MS = 60_000
/** Events are taken ahead of runs, so that what belongs together is run together. */
const PREFETCH_FACTOR = 2

export class Worker {
  readonly #options: WorkerOptions
  readonly queue: KeyedQueue
  readonly capacity: WakeSignal
  readonly reportDedup = new ReportDedup()
  /** Resources with something left at an HTTP service. */
  readonly polling = new Set<string>()
  /** Of the present `run`. */
  #signal = AbortSignal.abort()
  #transports: ResourceTransports | undefined
  readonly unwatchedKinds = new Map<string, string>()
  connected = false
  sourceProblem: string | undefined

  constructor(options: WorkerOptions) {
    this.#options = options
    this.capacity = new WakeSignal(options.clock)
    this.queue = new KeyedQueue({
      maxConcurrent: () => options.maxConcurrent,
      onCapacity: () => this.capacity.wake(),
      work: (turn) => this.process(turn),
    })
  }

  get inFlight(): number {
    return this.queue.running
  }

  /**
   * Runs until the signal aborts; runs that are under way are ended too, and their events given back.
   * @throws what broke one of its loops off; the others have ended then
   */
  async run(until: AbortSignal): Promise<void> {
    const { source, metrics, task, stats: ledger, clock } = this.#options
    const labels = { adapter_name: task.adapter.name }
    const broken = new AbortController()
    const signal = AbortSignal.any([until, broken.signal])
    this.#signal = signal
    const applied = this.createAppliedObjects(signal)
    this.#transports = this.createTransports(applied)
    metrics.up.set(labels, 1)
    metrics.stuck.set(task.adapter.name, () => ledger.stuck(clock.now().getTime()))
    const loops = [this.takeEvents(signal), this.extendDeliveries(signal, applied), this.forgetDeleted(signal)]
    try {
      await Promise.all(loops)
    } catch (error) {
      broken.abort(error)
      await Promise.allSettled(loops)
      throw error
    } finally {
      const left = await this.queue.close()
      await Promise.all(left.map((delivery) => delivery.giveBack(0)))
      await applied.stopped()
      await source.close()
      metrics.up.set(labels, 0)
      metrics.stuck.delete(task.adapter.name)
    }
  }

  createAppliedObjects(signal: AbortSignal): AppliedObjects {
    const { transport, task, stats: ledger, clock, log, onStatusChange: changed } = this.#options
    return new AppliedObjects({
      transport,
      adapter: task.adapter.name,
      isBusy: (id) => this.queue.isRunning(id),
      isDeleting: (id) => ledger.isDeleting(id),
      onChange: (event) => this.queue.add(event),
      onWatchProblem: (kind, problem) => {
        if (problem === undefined) this.unwatchedKinds.delete(kind)
        else this.unwatchedKinds.set(kind, problem)
        changed()
      },
      clock,
      log,
      signal,
    })
  }

  createTransports(applied: AppliedObjects): ResourceTransports {
    const { transport, kinds, task, externalClient: otherCaller, access } = this.#options
    return {
      kubernetes: kubernetesTransport({
        transport,
        kinds,
        fieldManager: `muster-adapter-${task.adapter.name}`,
        // Also what is only deleted: a manager that takes a deletion over has to see it end.
        onUse: (resource, namespace) => applied.ensureWatched(resource, namespace),
        onApplied: (object) => applied.recordOwnWrite(object),
      }),
      http: httpTransport(otherCaller, access.httpAllowlist),
    }
  }

  async takeEvents(signal: AbortSignal): Promise<void> {
    const { source, maxConcurrent, clock, log, onStatusChange: changed } = this.#options
    let failures = 0
    while (!signal.aborted) {
      const free = maxConcurrent * PREFETCH_FACTOR - this.queue.running - this.queue.waiting
      if (free <= 0) {
        await this.capacity.wait(IDLE_WAIT_MS, signal)
        continue
      }
      try {
        if (!this.connected) await source.open(signal)
        if (this.sourceProblem !== undefined || !this.connected) changed()
        this.sourceProblem = undefined
        this.connected = true
        for (const delivery of await source.take(free, signal)) this.queue.add(delivery.event, delivery)
        failures = 0
      } catch (error) {
        this.connected = false
        if (signal.aborted) return
        const problem = error instanceof Error ? error.message : String(error)
        if (this.sourceProblem !== problem) log.warn('events could not be taken', { problem })
        this.sourceProblem = problem
        changed()
        await clock.sleep(exponentialDelay(SOURCE_RETRY, ++failures), signal)
      }
    }
  }

  async extendDeliveries(signal: AbortSignal, applied: AppliedObjects): Promise<void> {
    const { visibilityMs: visibility, clock } = this.#options
    while (!signal.aborted) {
      await clock.sleep(visibility / 3, signal)
      if (!signal.aborted) await Promise.all(this.queue.deliveries.map((delivery) => delivery.extend()))
      this.reportDedup.dropExpired(clock.now().getTime())
      applied.stopIdleWatches()
    }
  }

  /** Nobody sends events about what is gone, by force or with other labels: it would be counted as failing, or stuck, for ever. */
  async forgetDeleted(signal: AbortSignal): Promise<void> {
    const { stats: ledger, clock, onStatusChange: changed } = this.#options
    while (!signal.aborted) {
      await clock.sleep(UNHEARD_AFTER_MS, signal)
      for (const event of ledger.unheardSince(clock.now().getTime() - UNHEARD_AFTER_MS)) {
        if (signal.aborted || !(await this.isGoneOrUnselected(event, signal))) continue
        ledger.forget(event.data.id)
        this.updateDeletionGauge()
        changed()
      }
    }
  }

  /** Whether its resource is gone, or not the task's any more; not when the API can't say. */
  async isGoneOrUnselected(event: ReconcileEvent, signal: AbortSignal): Promise<boolean> {
    try {
      const resource = await new ApiReader(this.#options.apiClient, hrefOf(event)).resource(signal)
      return resource !== undefined && !this.isSelected(resource)
    } catch (error) {
      return error instanceof NothingToDoError
    }
  }

  isSelected({ labels }: JsonObject): boolean {
    return matches(this.#options.selector, (labels ?? {}) as Record<string, string>)
  }

  async process({ event, deliveries }: WorkItem): Promise<void> {
    const { stats: ledger, log, metrics, task, clock, onStatusChange: changed } = this.#options
    const id = event.data.id
    metrics.inFlight.inc({ adapter_name: task.adapter.name })
    try {
      const result = await this.#run(event)
      this.recordRun(id, result)
      if (this.needsPolling(result)) void this.pollLater(event)
      await Promise.all(
        deliveries.map((delivery) =>
          result.isReported ? delivery.acknowledge() : delivery.giveBack(GIVE_BACK_DELAY_MS),
        ),
      )
    } catch (error) {
      if (!this.#signal.aborted) {
        const problem = error instanceof Error ? error.message : String(error)
        log.error('a run broke off', { resource: id, err: error })
        ledger.recordAbortedRun(id, problem)
      }
      await Promise.all(deliveries.map((delivery) => delivery.giveBack(this.#signal.aborted ? 0 : GIVE_BACK_DELAY_MS)))
    } finally {
      ledger.recordEvent(event, clock.now().getTime())
      metrics.inFlight.dec({ adapter_name: task.adapter.name })
      changed()
    }
  }

  /** A deletion waits for what no watch will tell of. */
  needsPolling({ remaining }: RunResult): boolean {
    return this.#options.task.resources.some(
      ({ name, transport: reach }) => reach.kind === 'http' && remaining.includes(name),
    )
  }

  async pollLater(event: ReconcileEvent): Promise<void> {
    const { id } = event.data
    if (this.polling.has(id)) return
    this.polling.add(id)
    const signal = this.#signal
    await this.#options.clock.sleep(HTTP_DELETION_POLL_MS, signal)
    this.polling.delete(id)
    if (!signal.aborted) this.queue.add(event)
  }

  #run(event: ReconcileEvent): Promise<RunResult> {
    const { task, apiClient: caller, access, config, clock, log } = this.#options
    if (this.#transports === undefined) throw new Error('the worker does not run')
    const requests: TracedRequest[] = []
    const traced = caller.withTracing((request) => requests.push(request), event.traceparent)
    return run({
      task,
      event,
      config,
      environment: access.environment,
      redactor: new Redactor(Object.values(access.environment)),
      isSelected: (resource) => this.isSelected(resource),
      requests,
      context: {
        api: new ApiReader(traced, hrefOf(event)),
        transports: this.#transports,
        reportDedup: this.reportDedup,
        readFile: access.readFile,
        clock,
        log: log.child({ resource: event.data.id }),
        signal: this.#signal,
      },
    })
  }

  recordRun(id: string, result: RunResult): void {
    const { stats: ledger, metrics, task, clock, log, onHealthChange: turned } = this.#options
    const { trace } = result
    const wasFailing = ledger.isFailing(id)
    const took = ledger.recordRun(id, result, clock.now().getTime())
    const labels = { adapter_name: task.adapter.name }
    countRun(metrics, task.adapter.name, trace)
    this.#options.onRunEnd(id, trace)
    if (took !== undefined) metrics.deletionDuration.observe(labels, took / 1_000)
    this.updateDeletionGauge()
    log.debug('a run ended', { resource: id, status: trace.status, mode: trace.mode, took: trace.duration })
    if (ledger.isFailing(id) !== wasFailing) turned(trace, ledger.isFailing(id))
  }

  updateDeletionGauge(): void {
    const { metrics, task, stats: ledger, clock } = this.#options
    const { deleting } = ledger.summary(clock.now().getTime())
    metrics.deletionsInProgress.set({ adapter_name: task.adapter.name }, deleting)
  }
}
