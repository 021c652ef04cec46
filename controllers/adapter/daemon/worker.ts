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
import type { Caller } from '../http/client.ts'
import { countRun, type Metrics } from '../metrics.ts'
import { ApiReader, NoConcernError } from '../run/api-reader.ts'
import { Redactor } from '../run/redactor.ts'
import { Outbox } from '../run/report-dedup.ts'
import { type RunResult, run } from '../run/run.ts'
import type { JsonObject, Task } from '../task/task.ts'
import { httpTransport } from '../transports/http.ts'
import { kubernetesTransport } from '../transports/kubernetes.ts'
import type { Transports } from '../transports/transport.ts'
import { Applied } from '../watch/applied-objects.ts'
import { Lanes, type Turn } from './keyed-queue.ts'
import type { Ledger } from './task-stats.ts'

export interface WorkerOptions {
  readonly task: Task
  readonly selector: Selector
  readonly source: EventSource
  /** Of the HyperFleet API, with the task's token. */
  readonly caller: Caller
  /** Of other services, without it. */
  readonly otherCaller: Caller
  /** In the name of the task's ServiceAccount. */
  readonly transport: ApiTransport
  readonly kinds: RestMapper
  readonly access: Access
  readonly config: JsonObject
  readonly maxConcurrent: number
  /** Milliseconds. */
  readonly visibility: number
  readonly ledger: Ledger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
  /** Something that the status tells has changed. */
  changed(): void
  /** A run has ended. */
  ended(resource: string, trace: Trace): void
  /** A run ended in another way than the one before it for this resource. */
  turned(trace: Trace, isFailing: boolean): void
}

/** After the source could not be reached, in milliseconds. */
const AGAIN: ExponentialBackoff = { initial: 500, factor: 2, max: 30_000 }
/** How long an event waits that came to nothing because the API was away, in milliseconds. */
const GIVE_BACK = 5_000
/** How long the loop sleeps when it has nothing to do; a bell wakes it. */
const IDLE = 30_000
/** How often an HTTP service is asked whether what it was told to delete is gone, in milliseconds: nothing there can be watched. */
const LOOK_AGAIN = 2_000
/** How long nobody asks about a resource that fails or is in deletion before it is looked whether it is still there, in milliseconds. */
const SILENT = 60_000
/** Events are taken ahead of runs, so that what belongs together is run together. */
const AHEAD = 2

export class Worker {
  readonly #options: WorkerOptions
  readonly #lanes: Lanes
  readonly #room: WakeSignal
  readonly #outbox = new Outbox()
  /** Resources with something left at an HTTP service. */
  readonly #asking = new Set<string>()
  /** Of the present `run`. */
  #signal = AbortSignal.abort()
  #transports: Transports | undefined
  readonly blind = new Map<string, string>()
  connected = false
  sourceProblem: string | undefined

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#room = new WakeSignal(options.clock)
    this.#lanes = new Lanes({
      limit: () => options.maxConcurrent,
      room: () => this.#room.wake(),
      work: (turn) => this.#work(turn),
    })
  }

  get inFlight(): number {
    return this.#lanes.running
  }

  /**
   * Runs until the signal aborts; runs that are under way are ended too, and their events given back.
   * @throws what broke one of its loops off; the others have ended then
   */
  async run(until: AbortSignal): Promise<void> {
    const { source, metrics, task, ledger, clock } = this.#options
    const labels = { adapter_name: task.adapter.name }
    const broken = new AbortController()
    const signal = AbortSignal.any([until, broken.signal])
    this.#signal = signal
    const applied = this.#watching(signal)
    this.#transports = this.#reaching(applied)
    metrics.up.set(labels, 1)
    metrics.stuck.set(task.adapter.name, () => ledger.stuck(clock.now().getTime()))
    const loops = [this.#take(signal), this.#keep(signal, applied), this.#forgetGone(signal)]
    try {
      await Promise.all(loops)
    } catch (error) {
      broken.abort(error)
      await Promise.allSettled(loops)
      throw error
    } finally {
      const left = await this.#lanes.close()
      await Promise.all(left.map((delivery) => delivery.giveBack(0)))
      await applied.stopped()
      await source.close()
      metrics.up.set(labels, 0)
      metrics.stuck.delete(task.adapter.name)
    }
  }

  #watching(signal: AbortSignal): Applied {
    const { transport, task, ledger, clock, log, changed } = this.#options
    return new Applied({
      transport,
      adapter: task.adapter.name,
      isBusy: (id) => this.#lanes.isRunning(id),
      isDeleting: (id) => ledger.isDeleting(id),
      changed: (event) => this.#lanes.add(event),
      trouble: (kind, problem) => {
        if (problem === undefined) this.blind.delete(kind)
        else this.blind.set(kind, problem)
        changed()
      },
      clock,
      log,
      signal,
    })
  }

  #reaching(applied: Applied): Transports {
    const { transport, kinds, task, otherCaller, access } = this.#options
    return {
      kubernetes: kubernetesTransport({
        transport,
        kinds,
        fieldManager: `muster-adapter-${task.adapter.name}`,
        // Also what is only deleted: a manager that takes a deletion over has to see it end.
        onUse: (resource, namespace) => applied.watch(resource, namespace),
        onApplied: (object) => applied.applied(object),
      }),
      http: httpTransport(otherCaller, access.httpTargets),
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    const { source, maxConcurrent, clock, log, changed } = this.#options
    let failures = 0
    while (!signal.aborted) {
      const free = maxConcurrent * AHEAD - this.#lanes.running - this.#lanes.waiting
      if (free <= 0) {
        await this.#room.wait(IDLE, signal)
        continue
      }
      try {
        if (!this.connected) await source.open(signal)
        if (this.sourceProblem !== undefined || !this.connected) changed()
        this.sourceProblem = undefined
        this.connected = true
        for (const delivery of await source.take(free, signal)) this.#lanes.add(delivery.event, delivery)
        failures = 0
      } catch (error) {
        this.connected = false
        if (signal.aborted) return
        const problem = error instanceof Error ? error.message : String(error)
        if (this.sourceProblem !== problem) log.warn('events could not be taken', { problem })
        this.sourceProblem = problem
        changed()
        await clock.sleep(exponentialDelay(AGAIN, ++failures), signal)
      }
    }
  }

  async #keep(signal: AbortSignal, applied: Applied): Promise<void> {
    const { visibility, clock } = this.#options
    while (!signal.aborted) {
      await clock.sleep(visibility / 3, signal)
      if (!signal.aborted) await Promise.all(this.#lanes.held.map((delivery) => delivery.keep()))
      this.#outbox.forgetOld(clock.now().getTime())
      applied.tidy()
    }
  }

  /** Nobody sends events about what is gone, by force or with other labels: it would be counted as failing, or stuck, for ever. */
  async #forgetGone(signal: AbortSignal): Promise<void> {
    const { ledger, clock, changed } = this.#options
    while (!signal.aborted) {
      await clock.sleep(SILENT, signal)
      for (const event of ledger.silentSince(clock.now().getTime() - SILENT)) {
        if (signal.aborted || !(await this.#isNoConcern(event, signal))) continue
        ledger.forget(event.data.id)
        this.#countDeletions()
        changed()
      }
    }
  }

  /** Whether its resource is gone, or not the task's any more; not when the API can't say. */
  async #isNoConcern(event: ReconcileEvent, signal: AbortSignal): Promise<boolean> {
    try {
      const resource = await new ApiReader(this.#options.caller, hrefOf(event)).resource(signal)
      return resource !== undefined && !this.#concerns(resource)
    } catch (error) {
      return error instanceof NoConcernError
    }
  }

  #concerns({ labels }: JsonObject): boolean {
    return matches(this.#options.selector, (labels ?? {}) as Record<string, string>)
  }

  async #work({ event, deliveries }: Turn): Promise<void> {
    const { ledger, log, metrics, task, clock, changed } = this.#options
    const id = event.data.id
    metrics.inFlight.inc({ adapter_name: task.adapter.name })
    try {
      const result = await this.#run(event)
      this.#note(id, result)
      if (this.#isUnwatched(result)) void this.#lookAgain(event)
      await Promise.all(
        deliveries.map((delivery) => (result.told ? delivery.acknowledge() : delivery.giveBack(GIVE_BACK))),
      )
    } catch (error) {
      if (!this.#signal.aborted) {
        const problem = error instanceof Error ? error.message : String(error)
        log.error('a run broke off', { resource: id, err: error })
        ledger.broke(id, problem)
      }
      await Promise.all(deliveries.map((delivery) => delivery.giveBack(this.#signal.aborted ? 0 : GIVE_BACK)))
    } finally {
      ledger.ran(event, clock.now().getTime())
      metrics.inFlight.dec({ adapter_name: task.adapter.name })
      changed()
    }
  }

  /** A deletion waits for what no watch will tell of. */
  #isUnwatched({ remaining }: RunResult): boolean {
    return this.#options.task.resources.some(({ name, reach }) => reach.kind === 'http' && remaining.includes(name))
  }

  async #lookAgain(event: ReconcileEvent): Promise<void> {
    const { id } = event.data
    if (this.#asking.has(id)) return
    this.#asking.add(id)
    const signal = this.#signal
    await this.#options.clock.sleep(LOOK_AGAIN, signal)
    this.#asking.delete(id)
    if (!signal.aborted) this.#lanes.add(event)
  }

  #run(event: ReconcileEvent): Promise<RunResult> {
    const { task, caller, access, config, clock, log } = this.#options
    if (this.#transports === undefined) throw new Error('the worker does not run')
    const requests: TracedRequest[] = []
    const traced = caller.tracing((request) => requests.push(request), event.traceparent)
    return run({
      task,
      event,
      config,
      environment: access.environment,
      veil: new Redactor(Object.values(access.environment)),
      concerns: (resource) => this.#concerns(resource),
      requests,
      surroundings: {
        api: new ApiReader(traced, hrefOf(event)),
        transports: this.#transports,
        outbox: this.#outbox,
        readFile: access.readFile,
        clock,
        log: log.child({ resource: event.data.id }),
        signal: this.#signal,
      },
    })
  }

  #note(id: string, result: RunResult): void {
    const { ledger, metrics, task, clock, log, turned } = this.#options
    const { trace } = result
    const wasFailing = ledger.isFailing(id)
    const took = ledger.note(id, result, clock.now().getTime())
    const labels = { adapter_name: task.adapter.name }
    countRun(metrics, task.adapter.name, trace)
    this.#options.ended(id, trace)
    if (took !== undefined) metrics.deletionDuration.observe(labels, took / 1_000)
    this.#countDeletions()
    log.debug('a run ended', { resource: id, status: trace.status, mode: trace.mode, took: trace.duration })
    if (ledger.isFailing(id) !== wasFailing) turned(trace, ledger.isFailing(id))
  }

  #countDeletions(): void {
    const { metrics, task, ledger, clock } = this.#options
    const { deleting } = ledger.summary(clock.now().getTime())
    metrics.deletionsInProgress.set({ adapter_name: task.adapter.name }, deleting)
  }
}
