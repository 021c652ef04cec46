/**
 * The loop of one SentinelConfig. Two tasks that never wait for each other:
 *
 *   read:      source ─► observe ─► schedule            (a failure: again at the next poll interval)
 *   dispatch:  schedule: what is due ─► POST /events     (a failure: that resource again, at the next poll interval)
 */
import { monotonic } from '#operator/model/clock.ts'
import { shardMetrics } from '../metrics.ts'
import { runUntilFirstEnds } from '../run-until-first-ends.ts'
import {
  fixedPartition,
  formatShard,
  type Partition,
  parseSettings,
  type SentinelSettings,
  SettingsError,
  sameResources,
} from '../settings.ts'
import type { OwnershipFindings } from '../sharding/ownership.ts'
import type { Listing } from '../source/list-pages.ts'
import type { SourceChange } from '../source/source.ts'
import type { SentinelState } from '../status/status.ts'
import { type ActiveShard, type ActiveShardDeps, activateShard, useMetrics } from './active-shard.ts'
import { Coverage } from './coverage.ts'
import { Dispatcher, type DispatchState } from './dispatcher.ts'
import type { LoopOptions } from './options.ts'
import { ResourceReader, SPEC_RETRY_DELAY_MS } from './resource-reader.ts'
import { sendPulse } from './send-pulse.ts'

export class PulseLoop {
  readonly #options: LoopOptions
  readonly #dispatcher: Dispatcher
  readonly #reader: ResourceReader
  readonly #coverage = new Coverage()
  readonly #shardDeps: ActiveShardDeps
  #shard: ActiveShard | undefined
  #generation: number | undefined
  #specProblem: string | undefined
  /** By the clock that is never set. */
  #specReadAt = 0
  #partition: Partition | undefined
  #findings: OwnershipFindings | undefined

  constructor(options: LoopOptions) {
    this.#options = options
    const { clock, log, changed, pulsesBefore, connect, warn, metrics } = options
    this.#shardDeps = {
      current: () => this.#shard,
      partition: () => this.#partition,
      watchedUntil: () => this.#coverage.inherited,
      warn,
      metrics,
      log,
    }
    this.#dispatcher = new Dispatcher({
      state: () => this.#dispatchState(),
      roundEnded: () => this.#dispatchRoundEnded(),
      changed,
      pulsesBefore,
      clock,
      log,
    })
    this.#reader = new ResourceReader({
      settings: () => (this.#waitsForSlot() ? undefined : this.#shard?.settings),
      connect,
      pollInterval: () => this.#shard?.settings.pollInterval ?? SPEC_RETRY_DELAY_MS,
      dueQuery: (since) =>
        this.#dispatcher.hasFailedPulses ? undefined : this.#shard?.observer.dueQuery(this.#now(), since),
      change: (change) => this.#take(change),
      failed: () => this.#fetchFailed(),
      clock,
      log,
    })
    this.reload()
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await runUntilFirstEnds(
        signal,
        (both) => this.#reader.run(both),
        (both) => this.#dispatcher.run(both),
      )
    } finally {
      this.#shard?.metrics.remove()
      await this.#reader.disconnect()
    }
  }

  /** Takes the spec as it is now. One that can't be run leaves the last good one running (SENTINEL-5). */
  reload(): void {
    const { spec, generation } = this.#options.spec()
    this.#generation = generation
    this.#specReadAt = monotonic(this.#options.clock)
    try {
      const settings = parseSettings(spec, this.#options.defaultUrl)
      const refusal = this.#options.refusal(settings.url)
      if (refusal !== undefined) throw new SettingsError('hyperfleetAPI.url', refusal)
      this.#specProblem = undefined
      if (JSON.stringify(settings) !== JSON.stringify(this.#shard?.settings)) this.#apply(settings)
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      if (this.#specProblem !== error.message)
        this.#options.log.warn('sentinel: the spec is invalid, the last valid one stays in use', {
          problem: error.message,
        })
      this.#specProblem = error.message
      const metrics = this.#shard?.metrics ?? shardMetrics(this.#options.metrics, 'invalid', String(spec.resourceType))
      metrics.error('config_load')
    }
    this.#options.changed()
  }

  /** Another partition of the selected resources is this replica's own now; undefined while it has none. */
  setPartition(partition: Partition | undefined): void {
    this.#partition = partition
    if (this.#shard !== undefined)
      this.#shard = { ...this.#shard, metrics: useMetrics(this.#shard.settings, this.#shardDeps) }
    this.#restart()
  }

  /** What a check of all SentinelConfigs found for this one. */
  setFindings(findings: OwnershipFindings): void {
    if (JSON.stringify(findings) === JSON.stringify(this.#findings)) return
    this.#findings = findings
    this.#options.changed()
  }

  /** How to list what this Sentinel's API has; undefined before the API answered. */
  get listing(): Listing | undefined {
    return this.#reader.connection?.listing
  }

  /** Of replicas that share a SentinelConfig, the one on the lowest slot writes its status. */
  get writesStatus(): boolean {
    if (this.#shard?.settings.autoShard.kind !== 'leased') return true
    return this.#partition !== undefined && Math.min(...this.#partition.members) === this.#partition.slot
  }

  get state(): SentinelState {
    const settings = this.#shard?.settings
    return {
      generation: this.#generation,
      specProblem: this.#specProblem,
      running: settings && { ...settings, shard: this.#shardText(settings) },
      source: this.#reader.connection?.source.kind,
      isComplete: this.#coverage.isComplete,
      fetchFailure: this.#reader.failure,
      eventFailure: this.#dispatcher.failure,
      counts: this.#shard?.schedule.counts() ?? { ready: 0, notReady: 0 },
      pulses: this.#dispatcher.pulses,
      coveredUntil: this.#coverage.until,
      findings: this.#findings,
    }
  }

  #apply(settings: SentinelSettings): void {
    const before = this.#shard?.settings
    const isRepartitioned = JSON.stringify(before?.autoShard) !== JSON.stringify(settings.autoShard)
    if (isRepartitioned) this.#partition = fixedPartition(settings)
    if (before === undefined) this.#applyFirst(settings)
    else this.#applyChange(before, settings, isRepartitioned)
  }

  #applyFirst(settings: SentinelSettings): void {
    this.#coverage.inherit(this.#options.watchedUntil(this.#shardText(settings)))
    this.#shard = activateShard(settings, this.#shardDeps)
    this.#restart()
  }

  #applyChange(before: SentinelSettings, settings: SentinelSettings, isRepartitioned: boolean): void {
    this.#shard = activateShard(settings, this.#shardDeps)
    this.#shard.metrics.reload()
    this.#options.log.info('sentinel: spec applied', {
      shard: this.#shardText(settings),
      resourceType: settings.resourceType,
    })
    if (!isRepartitioned && sameResources(before, settings) && before.timeout === settings.timeout)
      this.#dispatcher.wake()
    else {
      this.#coverage.dropInherited()
      this.#restart()
    }
  }

  /** Reads from the start: what is known stays, but decides nothing until it was seen again. */
  #restart(): void {
    this.#coverage.restart()
    this.#dispatcher.forgetAll()
    this.#reader.restart()
    this.#dispatcher.wake()
  }

  #waitsForSlot(): boolean {
    return this.#shard?.settings.autoShard.kind === 'leased' && this.#partition === undefined
  }

  #take(change: SourceChange): void {
    if (this.#shard === undefined) return
    const { observer, schedule } = this.#shard
    const now = this.#now()
    switch (change.kind) {
      case 'pollBegan':
        this.#coverage.pollBegan(now)
        if (change.isSweep) observer.beginSweep()
        return
      case 'items': {
        const ids = observer.observe(change.items, now)
        if (!this.#coverage.isLive) this.#dispatcher.decide(ids)
        else this.#coverage.workBegan(now)
        break
      }
      case 'deleted':
        schedule.forget(change.id)
        this.#dispatcher.forget(change.id)
        break
      case 'sweepEnded':
        schedule.endSweep(change.isExact)
        if (!this.#coverage.isComplete) this.#options.completed()
        this.#coverage.sweepEnded()
        this.#options.tidying.sweepEnded()
        this.#upToDate(now)
        break
      case 'upToDate':
        this.#upToDate(now)
        break
    }
    this.#dispatcher.wake()
    this.#options.changed()
  }

  #upToDate(now: number): void {
    this.#reader.succeeded()
    this.#coverage.upToDate(this.#reader.connection?.source.kind === 'Watch')
    if (!this.#coverage.isLive) this.#recordPoll(this.#coverage.pollSeconds(now), now)
  }

  #fetchFailed(): void {
    this.#shard?.metrics.error('fetch_resources')
    this.#coverage.interrupt()
    this.#options.changed()
  }

  #dispatchState(): DispatchState | undefined {
    if (this.#shard === undefined) return undefined
    const { schedule, metrics, settings } = this.#shard
    return {
      isConnected: this.#reader.connection !== undefined,
      isLive: this.#coverage.isLive,
      schedule,
      metrics,
      pollInterval: settings.pollInterval,
      send: (due, signal) => sendPulse({ ...this.#options, listing: this.listing }, due, signal),
    }
  }

  /** After every round of the dispatcher: until when everything is done, and whether it is time to count a poll. */
  #dispatchRoundEnded(): void {
    // An alert on an invalid spec must stay while it is invalid: SENTINEL-6.
    const specAge = monotonic(this.#options.clock) - this.#specReadAt
    if (this.#specProblem !== undefined && specAge >= SPEC_RETRY_DELAY_MS) this.reload()
    if (this.#shard === undefined || !this.#coverage.isComplete || this.#reader.failure !== undefined) return
    const { schedule, settings, metrics } = this.#shard
    const now = this.#now()
    if (this.#dispatcher.isDone && schedule.inFlight === 0) {
      this.#coverage.everythingPulsed(now)
      this.#coverage.workEnded(now)
      this.#options.tidying.everythingPulsed(this.#dispatcher.pulses)
      metrics.state(schedule, this.#coverage.until)
    }
    if (!this.#coverage.isPollDue(now, settings.pollInterval)) return
    this.#coverage.pollBegan(now)
    this.#recordPoll(this.#coverage.takeWorkSeconds(now), now)
  }

  /** One look at the whole shard is over: a poll, or an interval of a stream with what was done in it (SENTINEL-43). */
  #recordPoll(seconds: number, now: number): void {
    if (this.#shard === undefined) return
    const { metrics, schedule } = this.#shard
    const skipped = schedule.waiting(now)
    metrics.poll(seconds, skipped)
    metrics.state(schedule, this.#coverage.until)
    this.#options.log.debug('sentinel: looked at the shard', {
      shard: metrics.shard,
      resources: schedule.size,
      skippedReady: skipped.ready,
      skippedNotReady: skipped.notReady,
      why: 'the backoff of those skipped has not expired',
    })
  }

  #shardText(settings: SentinelSettings): string {
    return formatShard(settings, this.#partition?.slot)
  }

  #now(): number {
    return this.#options.clock.now().getTime()
  }
}
