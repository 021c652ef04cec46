/** Takes in what a source tells: judges every item by itself, keeps what belongs to the shard, and lets the rest go. */
import { type Config, owns, type Part } from './config.ts'
import type { Backoff } from './decision.ts'
import { overrideOf } from './override.ts'
import { type ReadyCondition, readinessOf } from './readiness.ts'
import { recall } from './recall.ts'
import { MalformedResource, parseResource, type ResourceBody } from './resource.ts'
import type { Schedule } from './schedule.ts'
import type { DueQuestion } from './source/due.ts'

/** Clocks of the API and of the Sentinel may differ by this much, in milliseconds. */
const CLOCK_SKEW = 30_000

/** How many different complaints are remembered, so that each is made once and not at every poll. */
const MOST_COMPLAINTS = 1_000

export interface IntakeOptions {
  readonly schedule: Schedule
  readonly config: () => Config
  readonly part: () => Part | undefined
  /** Until when an earlier Sentinel watched this shard, in milliseconds since the epoch. */
  readonly covered: () => number | undefined
  /** An item was skipped. */
  malformed(): void
  /** Said once for each sentence. */
  complain(reason: 'MalformedItem' | 'BackoffIgnored', sentence: string): void
}

export class Intake {
  readonly #options: IntakeOptions
  readonly #complaints = new Set<string>()
  /** What says ready for the resources of the current sweep; 'none' where there is no condition. */
  #conditions = new Set<ReadyCondition | 'none'>()
  /** The shortest backoffs that any resource asks for. */
  #shortest: Backoff = { notReady: Number.POSITIVE_INFINITY, ready: Number.POSITIVE_INFINITY }

  constructor(options: IntakeOptions) {
    this.#options = options
  }

  beginSweep(): void {
    this.#conditions = new Set()
    this.#shortest = { notReady: Number.POSITIVE_INFINITY, ready: Number.POSITIVE_INFINITY }
    this.#options.schedule.beginSweep()
  }

  /** @returns the ids that belong to the shard */
  take(items: readonly unknown[], now: number): string[] {
    const ours: string[] = []
    for (const item of items) {
      const body = this.#judge(item)
      if (body === undefined) continue
      if (owns(this.#options.config(), this.#options.part(), body)) {
        this.#observe(body, now)
        ours.push(body.id)
      } else this.#options.schedule.forget(body.id)
    }
    return ours
  }

  /** What a poll between two sweeps must ask for; undefined when conditions don't tell everything. */
  question(now: number, since: number): DueQuestion | undefined {
    const [condition, ...more] = this.#conditions
    if (condition === undefined || condition === 'none' || more.length > 0) return undefined
    const { backoff } = this.#options.config()
    return {
      condition,
      notReadyBefore: now - Math.min(backoff.notReady, this.#shortest.notReady),
      readyBefore: now - Math.min(backoff.ready, this.#shortest.ready),
      changedSince: since - CLOCK_SKEW,
    }
  }

  #judge(item: unknown): ResourceBody | undefined {
    try {
      return parseResource(item)
    } catch (error) {
      if (!(error instanceof MalformedResource)) throw error
      this.#options.malformed()
      this.#complain('MalformedItem', `skipped: ${error.message}`)
      return undefined
    }
  }

  #observe(body: ResourceBody, now: number): void {
    const { schedule, config, covered } = this.#options
    const { condition, ready, reference } = readinessOf(body)
    const { backoff, refused } = overrideOf(body)
    for (const sentence of refused) this.#complain('BackoffIgnored', sentence)
    this.#conditions.add(condition ?? 'none')
    if (backoff !== undefined)
      this.#shortest = {
        notReady: Math.min(this.#shortest.notReady, backoff.notReady ?? Number.POSITIVE_INFINITY),
        ready: Math.min(this.#shortest.ready, backoff.ready ?? Number.POSITIVE_INFINITY),
      }
    schedule.observe(
      {
        id: body.id,
        facts: { generation: body.generation, deleting: body.deletedAt !== undefined, ready, reference },
        backoff,
        recall: () => recall(body, covered(), { ...config().backoff, ...backoff }),
      },
      now,
    )
  }

  #complain(reason: 'MalformedItem' | 'BackoffIgnored', sentence: string): void {
    if (this.#complaints.has(sentence) || this.#complaints.size >= MOST_COMPLAINTS) return
    this.#complaints.add(sentence)
    this.#options.complain(reason, sentence)
  }
}
