/**
 * The loop of one SentinelConfig. Two tasks that never wait for each other: a slow poll delays no pulse, a refused pulse no poll.
 *
 *   follow:    source ─► intake ─► schedule            (a failure: again at the next poll interval)
 *   dispatch:  schedule: who is due ─► publisher ─► POST /events   (a failure: that resource again, at the next poll interval)
 */
import type { SentinelConfigSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { Bell } from './bell.ts'
import { type Config, ConfigError, fixedPart, type Part, parseConfig, sameResources, shardText } from './config.ts'
import { Failure } from './failure.ts'
import type { HyperFleet } from './hyperfleet.ts'
import { Intake } from './intake.ts'
import { type Metrics, type ShardMetrics, shardMetrics } from './metrics.ts'
import type { Findings } from './ownership.ts'
import { createPublisher } from './publish.ts'
import { type Due, Schedule } from './schedule.ts'
import { Dialect, type Listing } from './source/pages.ts'
import { poll } from './source/poll.ts'
import { selectionOf } from './source/selection.ts'
import type { Change, Source } from './source/source.ts'
import { watch } from './source/watch.ts'
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
  /** Who asks for events, as they tell it. */
  readonly source: string
  /** Events that earlier Sentinels created for this object. */
  readonly pulsesBefore: number
  connect(config: Config): HyperFleet
  /** Something that the status tells has changed. */
  changed(): void
  /** The whole shard was read for the first time with this spec. */
  completed(): void
  warn(reason: string, message: string): void
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
}

/** What is open towards one API. */
interface Connection {
  readonly api: HyperFleet
  readonly listing: Listing
  readonly source: Source
}

export class PulseLoop {
  readonly #options: LoopOptions
  readonly #bell: Bell
  #config: Config | undefined
  #generation: number | undefined
  #specProblem: string | undefined
  #part: Part | undefined
  #schedule = new Schedule({ notReady: 0, ready: 0 })
  #intake: Intake
  #metrics: ShardMetrics | undefined
  #connection: Connection | undefined
  /** Ends the current reading, to begin anew with another config or part. */
  #reading = new AbortController()
  #complete = false
  /** The facts in the schedule are true at any moment, not only when they are told. */
  #live = false
  /** Seen by the last polls and not decided yet. */
  #fresh = new Set<string>()
  /** Pulses that the API refused and that are still owed. */
  #unsent = new Set<string>()
  #fetchFailure: Failure | undefined
  #eventFailure: Failure | undefined
  #pulses: number
  #lookBegan = 0
  #coveredBefore: number | undefined
  #coveredUntil: number | undefined
  #findings: Findings | undefined

  constructor(options: LoopOptions) {
    this.#options = options
    this.#bell = new Bell(options.clock)
    this.#pulses = options.pulsesBefore
    this.#intake = this.#newIntake()
    this.reload()
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await together(
        signal,
        (both) => this.#follow(both),
        (both) => this.#dispatch(both),
      )
    } finally {
      this.#metrics?.end()
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
      if (JSON.stringify(config) !== JSON.stringify(this.#config)) this.#apply(config)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      if (this.#specProblem !== error.message) this.#options.log.warn('spec is invalid', { problem: error.message })
      this.#specProblem = error.message
      const metrics = this.#metrics ?? shardMetrics(this.#options.metrics, 'invalid', String(spec.resourceType))
      metrics.error('config_load')
    }
    this.#options.changed()
  }

  /** Another part of the selected resources is this replica's own now; undefined while it has none. */
  divide(part: Part | undefined): void {
    this.#part = part
    if (this.#config !== undefined) this.#nameShard(this.#config)
    this.#begin()
  }

  /** What a check of all SentinelConfigs found for this one. */
  found(findings: Findings): void {
    if (JSON.stringify(findings) === JSON.stringify(this.#findings)) return
    this.#findings = findings
    this.#options.changed()
  }

  /** The spec that runs. */
  get config(): Config | undefined {
    return this.#config
  }

  /** How to list what this Sentinel's API has; undefined before the API answered. */
  get listing(): Listing | undefined {
    return this.#connection?.listing
  }

  /** Of replicas that share a SentinelConfig, the one on the lowest slot writes its status. */
  get speaks(): boolean {
    return this.#part === undefined
      ? this.#config?.autoShard.kind !== 'claimed'
      : this.#config?.autoShard.kind === 'fixed' || Math.min(...this.#part.members) === this.#part.slot
  }

  get situation(): Situation {
    const config = this.#config
    return {
      generation: this.#generation,
      specProblem: this.#specProblem,
      running: config && {
        shard: this.#shard(config),
        resourceType: config.resourceType,
        pollInterval: config.pollInterval,
      },
      source: this.#connection?.source.kind,
      complete: this.#complete,
      fetchFailure: this.#fetchFailure,
      eventFailure: this.#eventFailure,
      counts: this.#schedule.counts(),
      pulses: this.#pulses,
      coveredUntil: this.#coveredUntil,
      findings: this.#findings,
    }
  }

  #apply(config: Config): void {
    const before = this.#config
    this.#config = config
    this.#nameShard(config)
    if (before !== undefined) {
      this.#metrics?.reload()
      this.#options.log.info('spec applied', { shard: this.#shard(config), resourceType: config.resourceType })
    }
    const known = before !== undefined && before.resourceType === config.resourceType && before.url === config.url
    if (known) this.#schedule.retune(config.backoff)
    else this.#forgetAll(config, before === undefined)
    const divided = JSON.stringify(before?.autoShard) !== JSON.stringify(config.autoShard)
    if (divided) this.#part = fixedPart(config)
    const same = before !== undefined && sameResources(before, config) && before.timeout === config.timeout && !divided
    if (same) this.#bell.ring()
    else this.#begin()
  }

  #forgetAll(config: Config, first: boolean): void {
    this.#schedule = new Schedule(config.backoff)
    this.#intake = this.#newIntake()
    this.#unsent.clear()
    this.#coveredBefore = first ? this.#options.covered(this.#shard(config)) : undefined
    this.#coveredUntil = this.#coveredBefore
  }

  #newIntake(): Intake {
    return new Intake({
      schedule: this.#schedule,
      config: () => this.#running(),
      part: () => this.#part,
      covered: () => this.#coveredBefore,
      malformed: () => this.#metrics?.malformed(),
      complain: (reason, sentence) => {
        this.#options.log.warn(sentence, { reason })
        this.#options.warn(reason, sentence)
      },
    })
  }

  /** Reads from the start: what is known stays, but decides nothing until it was seen again. */
  #begin(): void {
    this.#live = false
    this.#complete = false
    this.#fresh.clear()
    const reading = this.#reading
    this.#reading = new AbortController()
    this.#connection = this.#retire()
    reading.abort()
    this.#bell.ring()
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const both = AbortSignal.any([signal, this.#reading.signal])
      if (this.#config === undefined) {
        await this.#options.clock.sleep(CONFIG_RETRY, both)
        if (!both.aborted) this.reload()
      } else if (this.#config.autoShard.kind === 'claimed' && this.#part === undefined) {
        await this.#options.clock.sleep(CONFIG_RETRY, both)
      } else {
        const pause = await this.#read(this.#config, both)
        await this.#options.clock.sleep(pause, both)
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
      if (!(error instanceof Failure)) throw error
      this.#failedToFetch(error)
      return error.retryAfter ?? this.#running().pollInterval
    }
  }

  async #connect(config: Config, signal: AbortSignal): Promise<Connection> {
    const { clock } = this.#options
    const { resourceType } = config
    const api = this.#options.connect(config)
    try {
      const dialect = new Dialect()
      const selection = selectionOf(config.selector)
      const { features } = await api.list(resourceType, { labels: selection.labels, size: '1' }, signal)
      dialect.features = features
      const listing = { api, dialect, resourceType, selection }
      const source = features.has('watch')
        ? watch({ listing, clock })
        : poll({
            listing,
            clock,
            pollInterval: () => this.#running().pollInterval,
            question: (since) => (this.#unsent.size > 0 ? undefined : this.#intake.question(this.#now(), since)),
          })
      return { api, listing, source }
    } catch (error) {
      await api.close()
      throw error
    }
  }

  #take(change: Change): void {
    const now = this.#now()
    switch (change.kind) {
      case 'look':
        this.#lookBegan = now
        if (change.whole) this.#intake.beginSweep()
        return
      case 'items': {
        const ids = this.#intake.take(change.items, now)
        if (!this.#live) for (const id of ids) this.#fresh.add(id)
        break
      }
      case 'gone':
        this.#schedule.forget(change.id)
        this.#unsent.delete(change.id)
        break
      case 'swept':
        this.#schedule.endSweep(change.exact)
        if (!this.#complete) this.#options.completed()
        this.#complete = true
        break
      case 'current':
        break
    }
    if (change.kind === 'swept' || change.kind === 'current') this.#upToDate(now)
    this.#bell.ring()
    this.#options.changed()
  }

  #upToDate(now: number): void {
    if (this.#fetchFailure !== undefined) this.#options.log.info('the API answers again')
    this.#fetchFailure = undefined
    this.#live = this.#complete && this.#connection?.source.kind === 'Watch'
    if (!this.#live) this.#pass(now)
  }

  #failedToFetch(failure: Failure): void {
    this.#metrics?.error('fetch_resources')
    if (this.#fetchFailure?.message !== failure.message)
      this.#options.log.warn('resources could not be fetched', { reason: failure.reason, problem: failure.message })
    this.#fetchFailure = failure
    this.#live = false
    this.#options.changed()
    // A stream goes on where it broke off; anything else asks anew what the API can do.
    const resumes = this.#connection?.source.kind === 'Watch' && failure.status === undefined
    if (!resumes) this.#connection = this.#retire()
  }

  async #dispatch(signal: AbortSignal): Promise<void> {
    const publisher = createPublisher(
      {
        send: (due) => this.#send(due, signal),
        sent: (due) => this.#sent(due),
        failed: (due, error) => this.#refused(due, error),
        room: () => this.#bell.ring(),
      },
      this.#options.clock,
      signal,
    )
    let passed = this.#now()
    while (!signal.aborted) {
      const now = this.#now()
      while (publisher.hasRoom && this.#connection !== undefined) {
        const due = this.#nextDue(now)
        if (due === undefined) break
        publisher.send(due)
      }
      this.#cover(now)
      const tick = this.#config?.pollInterval ?? CONFIG_RETRY
      if (this.#live && (now - passed >= tick || now < passed)) {
        this.#lookBegan = now
        this.#pass(now)
        passed = now
      }
      const due = this.#live && publisher.hasRoom ? this.#schedule.nextDue() : undefined
      await this.#bell.wait(due === undefined ? tick : Math.min(Math.max(due - now, 0), tick), signal)
    }
  }

  /** While facts are live, time makes pulses due; otherwise only what was just seen may be pulsed. */
  #nextDue(now: number): Due | undefined {
    if (this.#live) return this.#schedule.take(now)
    for (const id of this.#fresh) {
      this.#fresh.delete(id)
      const due = this.#schedule.takeIfDue(id, now)
      if (due !== undefined) return due
    }
    return undefined
  }

  async #send({ id, reason, generation }: Due, signal: AbortSignal): Promise<void> {
    const connection = this.#connection
    if (connection === undefined) throw new Failure('APIUnreachable', 'the connection to the API was given up')
    const traceparent = newTraceparent()
    const { resourceType, dialect } = connection.listing
    const source = dialect.features.has('events') ? { source: this.#options.source } : {}
    await connection.api.createEvent({ resourceType, resourceId: id, reason, ...source }, traceparent, signal)
    this.#options.log.info('pulsed', { resourceType, id, reason, generation, traceId: traceIdOf(traceparent) })
  }

  #sent(due: Due): void {
    this.#schedule.pulsed(due, this.#now())
    this.#unsent.delete(due.id)
    this.#eventFailure = undefined
    this.#pulses++
    this.#metrics?.pulse(due.reason)
    this.#options.changed()
  }

  #refused(due: Due, error: unknown): void {
    const failure = error instanceof Failure ? error : new Failure('APIUnreachable', String(error), { cause: error })
    this.#metrics?.error('create_event')
    if (this.#eventFailure?.message !== failure.message)
      this.#options.log.warn('a pulse was not taken', { id: due.id, reason: due.reason, problem: failure.message })
    this.#eventFailure = failure
    this.#unsent.add(due.id)
    // A poll looks again anyway; without polls the schedule has to.
    this.#schedule.failed(due, this.#live ? this.#now() + this.#running().pollInterval : this.#now())
    this.#options.changed()
  }

  /** Moves on how far everything that was due has been pulsed: what a successor may rely on. */
  #cover(now: number): void {
    const owed = this.#fresh.size + this.#unsent.size + this.#schedule.inFlight
    if (owed > 0 || this.#fetchFailure !== undefined || !this.#complete) return
    this.#coveredUntil = this.#live ? now : this.#lookBegan
    this.#metrics?.state(this.#schedule, this.#coveredUntil)
  }

  /** One look at the whole shard is over (seed: sentinel, Main Reconciler). */
  #pass(now: number): void {
    this.#metrics?.pass(Math.max(0, this.#now() - this.#lookBegan) / 1_000, this.#schedule.waiting(now))
    this.#metrics?.state(this.#schedule, this.#coveredUntil)
  }

  #nameShard(config: Config): void {
    this.#metrics?.end()
    this.#metrics = shardMetrics(this.#options.metrics, this.#shard(config), config.resourceType)
    this.#metrics.begin()
  }

  #shard(config: Config): string {
    return shardText(config, this.#part?.slot)
  }

  #running(): Config {
    if (this.#config === undefined) throw new Error('nothing runs before a spec was applied')
    return this.#config
  }

  #now(): number {
    return this.#options.clock.now().getTime()
  }

  /** Gives the connection up, in the background: it may hang. */
  #retire(): undefined {
    void this.#disconnect()
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    await connection?.api.close()
  }
}
