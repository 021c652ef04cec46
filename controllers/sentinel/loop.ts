/**
 * The loop of one SentinelConfig. Two tasks that never wait for each other:
 *
 *   follow:    source ─► intake ─► schedule             (a failure: again at the next poll interval)
 *   dispatch:  schedule: who is due ─► POST /events     (a failure: that resource again, at the next poll interval)
 */
import type { SentinelConfigSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { type Config, ConfigError, fixedPart, type Part, parseConfig, sameResources, shardText } from './config.ts'
import { type Connection, openConnection } from './connection.ts'
import { type Dispatch, Dispatcher } from './dispatcher.ts'
import { Intake } from './intake.ts'
import { type Metrics, type ShardMetrics, shardMetrics } from './metrics.ts'
import type { Findings } from './ownership.ts'
import { type Due, Schedule } from './schedule.ts'
import type { Listing } from './source/pages.ts'
import type { Change } from './source/source.ts'
import type { Situation } from './status.ts'
import { together } from './together.ts'
import { newTraceparent, traceIdOf } from './trace.ts'

/** Seed: sentinel, Error Handling: "On config load failure: requeue after 30 seconds". */
const CONFIG_RETRY = 30_000

export interface LoopOptions {
  /** The spec as it is now, and its generation. */
  spec(): { readonly spec: SentinelConfigSpec; readonly generation: number | undefined }
  /** Until when an earlier Sentinel watched this shard (its text is given), in milliseconds since the epoch. */
  covered(shard: string): number | undefined
  /** Events that earlier Sentinels created for this object. */
  readonly pulsesBefore: number
  /** Who asks for events, as they tell it. */
  readonly source: string
  connect(config: Config): HyperFleetClient
  /** Something that the status tells has changed. */
  changed(): void
  /** The whole shard was read for the first time with this spec. */
  completed(): void
  warn(reason: string, message: string): void
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
}

/** What a spec brings with it. */
interface Running {
  readonly config: Config
  readonly metrics: ShardMetrics
  readonly schedule: Schedule
  readonly intake: Intake
}

export class PulseLoop {
  readonly #options: LoopOptions
  readonly #dispatcher: Dispatcher
  #running: Running | undefined
  #generation: number | undefined
  #specProblem: string | undefined
  #part: Part | undefined
  #connection: Connection | undefined
  /** Ends the current reading, to begin anew with another spec or part. */
  #reading = new AbortController()
  /** The whole shard was read once with this spec. */
  #complete = false
  /** The facts in the schedule are true at any moment, not only when they are told. */
  #live = false
  #fetchFailure: HyperFleetError | undefined
  #lookBegan = 0
  /** Until when an earlier Sentinel watched. */
  #coveredBefore: number | undefined
  /** Until when everything that was due has been pulsed: what a successor may rely on. */
  #coveredUntil: number | undefined
  #findings: Findings | undefined

  constructor(options: LoopOptions) {
    this.#options = options
    const { clock, log, changed, pulsesBefore } = options
    this.#dispatcher = new Dispatcher({
      dispatch: () => this.#dispatch(),
      turned: () => this.#turned(),
      changed,
      pulsesBefore,
      clock,
      log,
    })
    this.reload()
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await together(
        signal,
        (both) => this.#follow(both),
        (both) => this.#dispatcher.run(both),
      )
    } finally {
      this.#running?.metrics.end()
      await this.#disconnect()
    }
  }

  /** Takes the spec as it is now. One that can't be run leaves the last good one running. */
  reload(): void {
    const { spec, generation } = this.#options.spec()
    this.#generation = generation
    try {
      const config = parseConfig(spec)
      this.#specProblem = undefined
      if (JSON.stringify(config) !== JSON.stringify(this.#running?.config)) this.#apply(config)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      if (this.#specProblem !== error.message) this.#options.log.warn('spec is invalid', { problem: error.message })
      this.#specProblem = error.message
      const metrics =
        this.#running?.metrics ?? shardMetrics(this.#options.metrics, 'invalid', String(spec.resourceType))
      metrics.error('config_load')
    }
    this.#options.changed()
  }

  /** Another part of the selected resources is this replica's own now; undefined while it has none. */
  divide(part: Part | undefined): void {
    this.#part = part
    if (this.#running !== undefined)
      this.#running = { ...this.#running, metrics: this.#metricsOf(this.#running.config) }
    this.#begin()
  }

  /** What a check of all SentinelConfigs found for this one. */
  found(findings: Findings): void {
    if (JSON.stringify(findings) === JSON.stringify(this.#findings)) return
    this.#findings = findings
    this.#options.changed()
  }

  /** How to list what this Sentinel's API has; undefined before the API answered. */
  get listing(): Listing | undefined {
    return this.#connection?.listing
  }

  /** Of replicas that share a SentinelConfig, the one on the lowest slot writes its status. */
  get speaks(): boolean {
    if (this.#running?.config.autoShard.kind !== 'claimed') return true
    return this.#part !== undefined && Math.min(...this.#part.members) === this.#part.slot
  }

  get situation(): Situation {
    const config = this.#running?.config
    return {
      generation: this.#generation,
      specProblem: this.#specProblem,
      running: config && { ...config, shard: this.#shard(config) },
      source: this.#connection?.source.kind,
      complete: this.#complete,
      fetchFailure: this.#fetchFailure,
      eventFailure: this.#dispatcher.failure,
      counts: this.#running?.schedule.counts() ?? { ready: 0, notReady: 0 },
      pulses: this.#dispatcher.pulses,
      coveredUntil: this.#coveredUntil,
      findings: this.#findings,
    }
  }

  #apply(config: Config): void {
    const before = this.#running
    const divided = JSON.stringify(before?.config.autoShard) !== JSON.stringify(config.autoShard)
    if (divided) this.#part = fixedPart(config)
    if (before === undefined) this.#first(config)
    else this.#change(before, config, divided)
  }

  #first(config: Config): void {
    this.#coveredBefore = this.#options.covered(this.#shard(config))
    this.#coveredUntil = this.#coveredBefore
    this.#running = { config, metrics: this.#metricsOf(config), ...this.#emptySchedule(config) }
    this.#begin()
  }

  #change(before: Running, config: Config, divided: boolean): void {
    const sameType = before.config.resourceType === config.resourceType && before.config.url === config.url
    if (sameType) before.schedule.retune(config.backoff)
    const known = sameType ? before : this.#emptySchedule(config)
    this.#running = { config, metrics: this.#metricsOf(config), schedule: known.schedule, intake: known.intake }
    this.#running.metrics.reload()
    this.#options.log.info('spec applied', { shard: this.#shard(config), resourceType: config.resourceType })
    if (!divided && sameResources(before.config, config) && before.config.timeout === config.timeout)
      this.#dispatcher.wake()
    else {
      this.#coveredBefore = undefined
      this.#begin()
    }
  }

  #emptySchedule(config: Config): Pick<Running, 'schedule' | 'intake'> {
    const schedule = new Schedule(config.backoff)
    const intake = new Intake({
      schedule,
      config: () => this.#running?.config ?? config,
      part: () => this.#part,
      covered: () => (this.#complete ? undefined : this.#coveredBefore),
      malformed: () => this.#running?.metrics.malformed(),
      complain: (reason, sentence) => {
        this.#options.log.warn(sentence, { reason })
        this.#options.warn(reason, sentence)
      },
    })
    return { schedule, intake }
  }

  /** The same metrics for the same shard; another shard's end where they are. */
  #metricsOf(config: Config): ShardMetrics {
    const before = this.#running?.metrics
    const [shard, resourceType] = [this.#shard(config), config.resourceType]
    if (before?.shard === shard && before.resourceType === resourceType) return before
    before?.end()
    const metrics = shardMetrics(this.#options.metrics, shard, resourceType)
    metrics.begin()
    return metrics
  }

  /** Reads from the start: what is known stays, but decides nothing until it was seen again. */
  #begin(): void {
    this.#live = false
    this.#complete = false
    this.#dispatcher.forgetAll()
    const reading = this.#reading
    this.#reading = new AbortController()
    void this.#disconnect()
    reading.abort()
    this.#dispatcher.wake()
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const both = AbortSignal.any([signal, this.#reading.signal])
      const config = this.#running?.config
      const waits = config?.autoShard.kind === 'claimed' && this.#part === undefined
      if (config !== undefined && !waits) await this.#options.clock.sleep(await this.#read(config, both), both)
      else {
        await this.#options.clock.sleep(CONFIG_RETRY, both)
        if (!both.aborted) this.reload()
      }
    }
  }

  /** Reads until it fails or is ended; returns how long to wait before the next try, in milliseconds. */
  async #read(config: Config, signal: AbortSignal): Promise<number> {
    try {
      this.#connection ??= await this.#connect(config, signal)
      for await (const change of this.#connection.source.changes(signal)) {
        signal.throwIfAborted()
        this.#take(change)
      }
      return 0
    } catch (error) {
      if (signal.aborted) return 0
      if (!(error instanceof HyperFleetError)) throw error
      this.#failedToFetch(error)
      return error.retryAfter ?? this.#pollInterval()
    }
  }

  #connect(config: Config, signal: AbortSignal): Promise<Connection> {
    const { clock, connect } = this.#options
    const pollInterval = () => this.#pollInterval()
    const question = (since: number) =>
      this.#dispatcher.refused ? undefined : this.#running?.intake.question(this.#now(), since)
    return openConnection(connect(config), config, { clock, pollInterval, question }, signal)
  }

  #take(change: Change): void {
    if (this.#running === undefined) return
    const { intake, schedule } = this.#running
    const now = this.#now()
    switch (change.kind) {
      case 'look':
        this.#lookBegan = now
        if (change.whole) intake.beginSweep()
        return
      case 'items': {
        const ids = intake.take(change.items, now)
        if (!this.#live) this.#dispatcher.decide(ids)
        break
      }
      case 'gone':
        schedule.forget(change.id)
        this.#dispatcher.forget(change.id)
        break
      case 'swept':
        schedule.endSweep(change.exact)
        if (!this.#complete) this.#options.completed()
        this.#complete = true
        this.#upToDate(now)
        break
      case 'current':
        this.#upToDate(now)
        break
    }
    this.#dispatcher.wake()
    this.#options.changed()
  }

  #upToDate(now: number): void {
    if (this.#fetchFailure !== undefined) this.#options.log.info('the API answers again')
    this.#fetchFailure = undefined
    this.#live = this.#complete && this.#connection?.source.kind === 'Watch'
    if (!this.#live) this.#pass(now)
  }

  #failedToFetch(failure: HyperFleetError): void {
    this.#running?.metrics.error('fetch_resources')
    if (this.#fetchFailure?.message !== failure.message)
      this.#options.log.warn('resources could not be fetched', { reason: failure.reason, problem: failure.message })
    this.#fetchFailure = failure
    this.#live = false
    this.#options.changed()
    // A stream goes on where it broke off; anything else asks anew what the API can do.
    const resumes = this.#connection?.source.kind === 'Watch' && failure.status === undefined
    if (!resumes) void this.#disconnect()
  }

  #dispatch(): Dispatch | undefined {
    if (this.#running === undefined) return undefined
    const { schedule, metrics, config } = this.#running
    return {
      open: this.#connection !== undefined,
      live: this.#live,
      schedule,
      metrics,
      pollInterval: config.pollInterval,
      send: (due, signal) => this.#send(due, signal),
    }
  }

  async #send({ id, reason, generation }: Due, signal: AbortSignal): Promise<void> {
    if (this.#connection === undefined) throw new HyperFleetError('APIUnreachable', 'the API is not connected')
    const { resourceType, dialect, api } = this.#connection.listing
    const traceparent = newTraceparent()
    const source = dialect.features.has('events') ? { source: this.#options.source } : {}
    await api.createEvent({ resourceType, resourceId: id, reason, ...source }, traceparent, signal)
    this.#options.log.info('pulsed', { resourceType, id, reason, generation, traceId: traceIdOf(traceparent) })
  }

  /** After every turn of the dispatcher: how far everything is done, and whether a look's time has come. */
  #turned(): void {
    if (this.#running === undefined || !this.#complete || this.#fetchFailure !== undefined) return
    const { schedule, config, metrics } = this.#running
    const now = this.#now()
    if (this.#dispatcher.settled && schedule.inFlight === 0) {
      this.#coveredUntil = this.#live ? now : this.#lookBegan
      metrics.state(schedule, this.#coveredUntil)
    }
    const sinceLook = now - this.#lookBegan
    if (!this.#live || (sinceLook < config.pollInterval && sinceLook >= 0)) return
    this.#lookBegan = now
    this.#pass(now)
  }

  /** One look at the whole shard is over (seed: sentinel, Main Reconciler): with a live schedule that takes no time. */
  #pass(now: number): void {
    if (this.#running === undefined) return
    const { metrics, schedule } = this.#running
    metrics.pass(Math.max(0, now - this.#lookBegan) / 1_000, schedule.waiting(now))
    metrics.state(schedule, this.#coveredUntil)
  }

  #pollInterval(): number {
    return this.#running?.config.pollInterval ?? CONFIG_RETRY
  }

  #shard(config: Config): string {
    return shardText(config, this.#part?.slot)
  }

  #now(): number {
    return this.#options.clock.now().getTime()
  }

  /** Gives the connection up; resolves when what is under way on it has ended. */
  async #disconnect(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    await connection?.api.close()
  }
}
