/**
 * Hands due pulses to the publisher and keeps account of what became of them. It waits for nothing but time, room and news,
 * never for the source: a slow poll delays no pulse.
 */

import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import type { DuePulse, Schedule } from '../decision/schedule.ts'
import type { ShardMetrics } from '../metrics.ts'
import { LogSampler } from './log-sampler.ts'
import { createPublisher } from './publisher.ts'

/** What the loop decides for the dispatcher. Times in milliseconds. */
export interface DispatchState {
  /** Whether the API is connected, so that something can be sent. */
  readonly isConnected: boolean
  readonly schedule: Schedule
  readonly metrics: ShardMetrics
  /** The schedule's facts are true at any moment, so that time alone makes a pulse due. */
  readonly isLive: boolean
  readonly pollInterval: number
  /** @throws HyperFleetError */
  send(due: DuePulse, signal: AbortSignal): Promise<void>
}

export interface DispatcherOptions {
  /** As it is now; undefined before a spec was applied. */
  state(): DispatchState | undefined
  /** Everything that was due has been looked at; called at every turn. */
  roundEnded(): void
  /** Something that the status tells has changed. */
  changed(): void
  /** Events that earlier Sentinels created for this object. */
  readonly pulsesBefore: number
  readonly clock: Clock
  readonly log: Logger
}

/** How long a turn lasts while nothing may be sent, in milliseconds; news wakes it. */
const IDLE_WAIT_MS = 30_000

export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #wakeSignal: WakeSignal
  /** Told by polls and not decided yet. */
  readonly #undecided = new Set<string>()
  #pulses: number
  #failure: HyperFleetError | undefined
  readonly #failureLines = new LogSampler()

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#wakeSignal = new WakeSignal(options.clock)
    this.#pulses = options.pulsesBefore
  }

  /** Events created for this object. */
  get pulses(): number {
    return this.#pulses
  }

  /** What the last pulse failed with; undefined when it was taken, or nothing is owed any more. */
  get failure(): HyperFleetError | undefined {
    return this.hasFailedPulses ? this.#failure : undefined
  }

  /** Whether the API still owes us the acceptance of a pulse. */
  get hasFailedPulses(): boolean {
    return (this.#options.state()?.schedule.failedPulses ?? 0) > 0
  }

  /** Whether nothing is left to be decided or sent. */
  get isDone(): boolean {
    return this.#undecided.size === 0 && !this.hasFailedPulses
  }

  /** There is something new to look at. */
  wake(): void {
    this.#wakeSignal.wake()
  }

  /** A poll told how these are now: the moment to decide about them. */
  decide(ids: readonly string[]): void {
    for (const id of ids) this.#undecided.add(id)
    this.wake()
  }

  /** The resource is gone. */
  forget(id: string): void {
    this.#undecided.delete(id)
  }

  /** Other resources from now on. */
  forgetAll(): void {
    this.#undecided.clear()
    this.#failure = undefined
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const publisher = createPublisher(
      {
        send: async (due) => this.#options.state()?.send(due, signal),
        sent: (due) => this.#sent(due),
        failed: (due, error) => this.#failed(due, error),
        capacityFreed: () => this.wake(),
      },
      clock,
      signal,
    )
    while (!signal.aborted) {
      const now = clock.now().getTime()
      const dispatch = this.#options.state()
      while (dispatch?.isConnected && publisher.hasCapacity) {
        const due = this.#next(dispatch, now)
        if (due === undefined) break
        publisher.send(due)
      }
      this.#options.roundEnded()
      const tick = dispatch?.pollInterval ?? IDLE_WAIT_MS
      const due = dispatch?.isLive && publisher.hasCapacity ? dispatch.schedule.nextDue() : undefined
      await this.#wakeSignal.wait(due === undefined ? tick : Math.min(Math.max(due - now, 0), tick), signal)
    }
  }

  /** While facts are live, time makes pulses due; otherwise only what was just told may be pulsed. */
  #next({ isLive, schedule }: DispatchState, now: number): DuePulse | undefined {
    if (isLive) {
      // What was told before the stream was live is due by time now, like everything.
      this.#undecided.clear()
      return schedule.take(now)
    }
    for (const id of this.#undecided) {
      this.#undecided.delete(id)
      const due = schedule.takeIfDue(id, now)
      if (due !== undefined) return due
    }
    return undefined
  }

  #sent(due: DuePulse): void {
    const dispatch = this.#options.state()
    dispatch?.schedule.pulsed(due, this.#options.clock.now().getTime())
    dispatch?.metrics.pulse(due.reason)
    this.#failure = undefined
    this.#pulses++
    this.#options.changed()
  }

  #failed(due: DuePulse, error: unknown): void {
    const { log, changed, clock } = this.#options
    const failure =
      error instanceof HyperFleetError ? error : new HyperFleetError('APIUnreachable', String(error), { cause: error })
    const omitted = this.#failureLines.next(monotonic(clock))
    if (omitted !== undefined)
      log.warn('sentinel: a pulse was not taken, it is sent again', {
        id: due.id,
        reason: due.reason,
        problem: failure.message,
        ...(omitted > 0 && { omitted }),
      })
    this.#failure = failure
    const dispatch = this.#options.state()
    dispatch?.metrics.error('create_event')
    // A poll looks again anyway; without a poll, the schedule has to.
    dispatch?.schedule.failed(due, clock.now().getTime() + (dispatch.isLive ? dispatch.pollInterval : 0))
    changed()
  }
}
