/**
 * Resources by polling: a sweep over all pages, and between sweeps only what may be due, where the API can be asked that.
 * An API that refuses the question is swept on every poll.
 */

import type { Clock } from '#operator/model/clock.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { type DueQuery, formatDueSearches } from './due-query.ts'
import { hasKeyset, type Listing, listPages } from './list-pages.ts'
import { type Source, type SourceChange, SWEEP_INTERVAL_MS } from './source.ts'

export interface PollOptions {
  readonly listing: Listing
  readonly clock: Clock
  /** Milliseconds. */
  pollInterval(): number
  /** What to ask between sweeps; undefined when only a sweep will do. @param since when the last poll began */
  dueQuery(since: number): DueQuery | undefined
}

export const pollSource = ({ listing, clock, pollInterval, dueQuery }: PollOptions): Source => {
  let sweptAt: number | undefined
  let polledAt = 0
  let answersQuestions = true

  async function* sweep(signal: AbortSignal): AsyncGenerator<SourceChange> {
    yield { kind: 'pollBegan', isSweep: true }
    for await (const { items } of listPages(listing, signal)) yield { kind: 'items', items }
    yield { kind: 'sweepEnded', isExact: hasKeyset(listing.dialect) }
  }

  async function* dueOnly(asked: DueQuery, signal: AbortSignal): AsyncGenerator<SourceChange> {
    yield { kind: 'pollBegan', isSweep: false }
    for (const search of formatDueSearches(asked))
      for await (const { items } of listPages({ ...listing, where: [search] }, signal)) yield { kind: 'items', items }
    yield { kind: 'upToDate' }
  }

  async function* pollOnce(now: number, signal: AbortSignal): AsyncGenerator<SourceChange> {
    const fresh = sweptAt !== undefined && now - sweptAt < SWEEP_INTERVAL_MS && now >= sweptAt
    const asked = fresh && answersQuestions && listing.dialect.supportsSearch ? dueQuery(polledAt) : undefined
    if (asked !== undefined) {
      try {
        yield* dueOnly(asked, signal)
        return
      } catch (error) {
        if (!(error instanceof HyperFleetError && error.status === 400)) throw error
        answersQuestions = false
      }
    }
    yield* sweep(signal)
    sweptAt = now
  }

  return {
    kind: 'Poll',
    async *changes(signal) {
      for (;;) {
        signal.throwIfAborted()
        const now = clock.now().getTime()
        yield* pollOnce(now, signal)
        polledAt = now
        await clock.sleep(pauseAfter(clock.now().getTime() - now, pollInterval()), signal)
      }
    },
  }
}

/**
 * Polls begin an interval apart, so that nothing waits longer than one to be seen. An API that needs longer than that for
 * a poll is left in peace for a whole one.
 */
const pauseAfter = (elapsed: number, interval: number): number =>
  elapsed >= 0 && elapsed < interval ? interval - elapsed : interval
