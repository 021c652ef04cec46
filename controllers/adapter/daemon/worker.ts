/**
 * Works on one task until its signal aborts:
 *
 *   intake:  source ─► RunQueue ─► run ─► acknowledge | give back
 *   extend:  the visibility of deliveries that wait or are worked on
 *   watch:   an applied object changes ─► RunQueue
 *   check:   resources of which no event tells ─► RunQueue
 *   forget:  resources that are gone without an event
 *   retry:   resources whose last run could not be reported ─► RunQueue
 */

import type { Trace } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { detach } from '#lib/process/detach.ts'
import type { ReconcileEvent } from '../events/reconcile-event.ts'
import type { EventSource } from '../events/source.ts'
import { countRun, type Metrics } from '../metrics.ts'
import type { RunResult } from '../run/run.ts'
import { AppliedObjects } from '../watch/applied-objects.ts'
import { checkInventories, type Look, type LostOwner } from './check-inventories.ts'
import { EventIntake } from './event-intake.ts'
import { forgetDeleted } from './forget-deleted.ts'
import type { InferredDeletions } from './inferred-deletions.ts'
import { RunQueue, type WorkItem } from './run-queue.ts'
import { type LeftWork, ServicePolls } from './service-polls.ts'
import { TaskRunner, type TaskRunnerOptions } from './task-runner.ts'
import type { TaskStats } from './task-stats.ts'
import { UnreportedRuns } from './unreported-runs.ts'

export interface WorkerOptions extends TaskRunnerOptions {
  /** Plural: clusters. */
  readonly resourceType: string
  readonly source: EventSource
  readonly maxConcurrent: number
  /** Milliseconds. */
  readonly visibilityMs: number
  readonly stats: TaskStats
  readonly brake: InferredDeletions
  readonly metrics: Metrics
  /** Something that the status shows has changed. */
  onStatusChange(): void
  /** A run has ended. */
  onRunEnd(resource: string, trace: Trace): void
  /** The runs of a resource fail now, or fail no longer. */
  onHealthChange(trace: Trace, isFailing: boolean): void
}

/** How long an event waits that was given back because its outcome could not be reported. */
const GIVE_BACK_DELAY_MS = 5_000
/** Why something is not there yet, and is asked for again by itself. CLUSTER-22, CLUSTER-94. */
const NO_ROOM: readonly string[] = ['QuotaExceeded', 'Unschedulable']
/** Events are taken ahead of runs, so that several for one resource become one run. */
const PREFETCH_FACTOR = 2

export class Worker {
  readonly #options: WorkerOptions
  readonly #queue: RunQueue
  readonly #intake: EventIntake
  readonly #servicePolls: ServicePolls
  readonly #unreported: UnreportedRuns
  /** Of the present `run`. */
  #signal = AbortSignal.abort()
  #runner: TaskRunner | undefined
  readonly unwatchedKinds = new Map<string, string>()

  constructor(options: WorkerOptions) {
    this.#options = options
    const { source, maxConcurrent, clock, log } = options
    this.#servicePolls = new ServicePolls(clock)
    this.#unreported = new UnreportedRuns(clock, (event) => this.#queue.add(event))
    this.#queue = new RunQueue({
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
    using scope = new AbortScope(until)
    const { signal } = scope
    this.#signal = signal
    const applied = this.#createAppliedObjects(signal)
    const runner = new TaskRunner(this.#options, applied)
    this.#runner = runner
    await this.#options.inventories.load(signal)
    metrics.up.set(labels, 1)
    metrics.stuck.set(task.adapter.name, () => stats.stuck(clock.now().getTime()))
    const loops = [
      this.#intake.run(signal),
      this.#extendDeliveries(signal, applied),
      this.#forgetDeleted(signal, runner),
      this.#checkInventories(signal, runner),
      this.#unreported.run(signal),
    ]
    try {
      await Promise.all(loops)
    } catch (error) {
      scope.abort(error)
      await Promise.allSettled(loops)
      throw error
    } finally {
      const waiting = await this.#queue.close()
      await Promise.all(waiting.map((delivery) => delivery.release()))
      await applied.stopped()
      await source.close()
      metrics.up.set(labels, 0)
      metrics.stuck.delete(task.adapter.name)
      metrics.orphans.remove(labels)
    }
  }

  #createAppliedObjects(signal: AbortSignal): AppliedObjects {
    const { transport, task, stats, inventories, clock, log, onStatusChange } = this.#options
    return new AppliedObjects({
      transport,
      adapter: task.adapter.name,
      ownersOf: (object) => inventories.ownersOf(object),
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

  async #extendDeliveries(signal: AbortSignal, applied: AppliedObjects): Promise<void> {
    const { visibilityMs, clock } = this.#options
    while (!signal.aborted) {
      await clock.sleep(visibilityMs / 3, signal)
      if (!signal.aborted) await Promise.all(this.#queue.deliveries.map((delivery) => delivery.extend()))
      this.#runner?.dropExpiredReports()
      applied.stopIdleWatches()
    }
  }

  #forgetDeleted(signal: AbortSignal, runner: TaskRunner): Promise<void> {
    const { stats, apiClient, inventories, clock, onStatusChange } = this.#options
    return forgetDeleted({
      stats,
      apiClient,
      isSelected: (resource) => runner.isSelected(resource),
      hasInventory: (id) => inventories.has(id),
      onForgotten: () => {
        this.#updateDeletionGauge()
        onStatusChange()
      },
      clock,
      signal,
    })
  }

  #checkInventories(signal: AbortSignal, runner: TaskRunner): Promise<void> {
    const { task, resourceType, inventories, apiClient, brake, clock, log } = this.#options
    return checkInventories({
      task,
      resourceType,
      inventories,
      apiClient,
      isSelected: (resource) => runner.isSelected(resource),
      onLeft: (data) => this.#queue.add({ id: `left.${data.id}`, type: 'left', traceparent: undefined, data }),
      startLook: () => this.#startLook(runner),
      soon: brake.soon,
      clock,
      log,
      signal,
    })
  }

  /** What is kept can't be deleted, so it is not counted as if it were going to be; it needs one run, that lets the resource go. */
  #startLook(runner: TaskRunner): Look {
    const { brake, retention, metrics, task } = this.#options
    const policy = { gone: retention?.whenResourceGone, unselected: retention?.whenUnselected }
    const isCounted = ({ owner, why }: LostOwner) => policy[why] !== 'Keep' && owner.inventory.entries.size > 0
    const decide = brake.look()
    return (lost, owners) => {
      const gone = lost.filter(({ why }) => why === 'gone')
      metrics.orphans.set({ adapter_name: task.adapter.name }, gone.length)
      const counted = lost.filter(isCounted).map(({ owner: { event, inventory }, why }) => {
        return { key: event.id, revision: inventory.mark ?? '', why }
      })
      const free = decide(counted, new Set(owners.map(({ event }) => event.id)))
      const others = lost.filter((one) => !isCounted(one) && !runner.hasLeft(one.owner.event.id, one.resource))
      return free.union(new Set(others.map(({ owner }) => owner.event.id)))
    }
  }

  async #process({ event, deliveries }: WorkItem): Promise<void> {
    const { stats, log, metrics, task, clock, onStatusChange } = this.#options
    const id = event.data.id
    metrics.inFlight.inc({ adapter_name: task.adapter.name })
    try {
      if (this.#runner === undefined) throw new Error('the worker is not running')
      const result = await this.#runner.run(event, this.#signal)
      this.#recordRun(id, result)
      this.#unreported.record(event, result.isReported)
      detach('waiting to look again at what can’t be watched', this.#pollServices(event, result))
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
        this.#unreported.record(event, false)
      }
      const isStopped = this.#signal.aborted
      await Promise.all(
        deliveries.map((delivery) => (isStopped ? delivery.release() : delivery.giveBack(GIVE_BACK_DELAY_MS))),
      )
    } finally {
      stats.recordEvent(event, clock.now().getTime())
      metrics.inFlight.dec({ adapter_name: task.adapter.name })
      onStatusChange()
    }
  }

  /** What is left to do, and can't be watched. */
  #leftAtServices({ remaining, working, awaitsPods, trace }: RunResult): LeftWork {
    const { resources } = this.#options.task
    if (resources.some(({ name, transport }) => transport.kind === 'http' && remaining.includes(name)))
      return 'deletion'
    if (trace.failures.some(({ reason }) => NO_ROOM.includes(reason))) return 'quota'
    if (working.length > 0) return 'work'
    return awaitsPods ? 'pods' : 'nothing'
  }

  async #pollServices(event: ReconcileEvent, result: RunResult): Promise<void> {
    const left = this.#leftAtServices(result)
    if (await this.#servicePolls.wait(event.data.id, left, this.#signal)) this.#queue.add(event)
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
