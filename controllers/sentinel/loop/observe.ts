/** Takes in what a source tells: judges every item by itself, keeps what belongs to the shard, and lets the rest go. */

import { readOverride } from '../decision/backoff-override.ts'
import type { Backoff } from '../decision/decide.ts'
import { inferPulseHistory } from '../decision/pulse-history.ts'
import { type ReadyCondition, readReadiness } from '../decision/readiness.ts'
import { MalformedResource, parseResource, type ResourceBody } from '../decision/resource.ts'
import type { Schedule } from '../decision/schedule.ts'
import { owns, type Partition, type SentinelSettings } from '../settings.ts'
import type { DueQuery } from '../source/due-query.ts'

/** Clocks of the API and of the Sentinel may differ by this much, in milliseconds. */
const CLOCK_SKEW_MS = 30_000

/** How many different complaints are remembered, so that each is made once and not at every poll. */
const MAX_WARNINGS = 1_000

export interface ShardObserverOptions {
  readonly schedule: Schedule
  readonly settings: () => SentinelSettings
  readonly partition: () => Partition | undefined
  /** Until when an earlier Sentinel watched this shard, in milliseconds since the epoch. */
  readonly watchedUntil: () => number | undefined
  /** An item was skipped. */
  malformed(): void
  /** Said once for each sentence. */
  warn(reason: 'MalformedItem' | 'BackoffIgnored', sentence: string): void
}

export class ShardObserver {
  readonly #options: ShardObserverOptions
  readonly #warned = new Set<string>()
  /** What says ready for the resources of the current sweep; 'none' where there is no condition. */
  #conditions = new Set<ReadyCondition | 'none'>()
  /** The shortest backoffs that any resource asks for. */
  #minBackoff: Backoff = { notReady: Number.POSITIVE_INFINITY, ready: Number.POSITIVE_INFINITY }

  constructor(options: ShardObserverOptions) {
    this.#options = options
  }

  beginSweep(): void {
    this.#conditions = new Set()
    this.#minBackoff = { notReady: Number.POSITIVE_INFINITY, ready: Number.POSITIVE_INFINITY }
    this.#options.schedule.beginSweep()
  }

  /** @returns the ids that belong to the shard */
  observe(items: readonly unknown[], now: number): string[] {
    const ours: string[] = []
    for (const item of items) {
      const body = this.#parse(item)
      if (body === undefined) continue
      if (owns(this.#options.settings(), this.#options.partition(), body)) {
        this.#schedule(body, now)
        ours.push(body.id)
      } else this.#options.schedule.forget(body.id)
    }
    return ours
  }

  /** What a poll between two sweeps must ask for; undefined when conditions don't tell everything. */
  dueQuery(now: number, since: number): DueQuery | undefined {
    const [condition, ...more] = this.#conditions
    if (condition === undefined || condition === 'none' || more.length > 0) return undefined
    const { backoff } = this.#options.settings()
    return {
      condition,
      notReadyBefore: now - Math.min(backoff.notReady, this.#minBackoff.notReady),
      readyBefore: now - Math.min(backoff.ready, this.#minBackoff.ready),
      changedSince: since - CLOCK_SKEW_MS,
    }
  }

  #parse(item: unknown): ResourceBody | undefined {
    try {
      return parseResource(item)
    } catch (error) {
      if (!(error instanceof MalformedResource)) throw error
      this.#options.malformed()
      this.#warnOnce('MalformedItem', `skipped: ${error.message}`)
      return undefined
    }
  }

  #schedule(body: ResourceBody, now: number): void {
    const { schedule, settings, watchedUntil } = this.#options
    const { condition, ready, reference } = readReadiness(body)
    const { backoff, ignored } = readOverride(body)
    for (const sentence of ignored) this.#warnOnce('BackoffIgnored', sentence)
    this.#conditions.add(condition ?? 'none')
    if (backoff !== undefined)
      this.#minBackoff = {
        notReady: Math.min(this.#minBackoff.notReady, backoff.notReady ?? Number.POSITIVE_INFINITY),
        ready: Math.min(this.#minBackoff.ready, backoff.ready ?? Number.POSITIVE_INFINITY),
      }
    schedule.observe(
      {
        id: body.id,
        state: { generation: body.generation, deleting: body.deletedAt !== undefined, ready, reference },
        backoff,
        inferHistory: () => inferPulseHistory(body, watchedUntil(), { ...settings().backoff, ...backoff }),
      },
      now,
    )
  }

  #warnOnce(reason: 'MalformedItem' | 'BackoffIgnored', sentence: string): void {
    if (this.#warned.has(sentence) || this.#warned.size >= MAX_WARNINGS) return
    this.#warned.add(sentence)
    this.#options.warn(reason, sentence)
  }
}
