/**
 * Resources by polling: a sweep over all pages, and between sweeps only what may be due, where the API can be asked that.
 * An API that refuses the question is swept on every poll.
 */

import type { Clock } from '#operator/model/clock.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { type DueQuestion, dueSearches } from './due.ts'
import { hasKeyset, type Listing, pages } from './pages.ts'
import { type Change, type Source, SWEEP_EVERY } from './source.ts'

export interface PollOptions {
  readonly listing: Listing
  readonly clock: Clock
  /** Milliseconds. */
  pollInterval(): number
  /** What to ask between sweeps; undefined when only a sweep will do. @param since when the last poll began */
  question(since: number): DueQuestion | undefined
}

export const poll = ({ listing, clock, pollInterval, question }: PollOptions): Source => {
  let sweptAt: number | undefined
  let polledAt = 0
  let answersQuestions = true

  async function* sweep(signal: AbortSignal): AsyncGenerator<Change> {
    yield { kind: 'look', whole: true }
    for await (const { items } of pages(listing, signal)) yield { kind: 'items', items }
    yield { kind: 'swept', exact: hasKeyset(listing.dialect) }
  }

  async function* dueOnly(asked: DueQuestion, signal: AbortSignal): AsyncGenerator<Change> {
    yield { kind: 'look', whole: false }
    for (const search of dueSearches(asked))
      for await (const { items } of pages({ ...listing, where: [search] }, signal)) yield { kind: 'items', items }
    yield { kind: 'current' }
  }

  async function* look(now: number, signal: AbortSignal): AsyncGenerator<Change> {
    const fresh = sweptAt !== undefined && now - sweptAt < SWEEP_EVERY && now >= sweptAt
    const asked = fresh && answersQuestions && listing.dialect.searches ? question(polledAt) : undefined
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
        yield* look(now, signal)
        polledAt = now
        await clock.sleep(restAfter(clock.now().getTime() - now, pollInterval()), signal)
      }
    },
  }
}

/**
 * Polls begin an interval apart, so that nothing waits longer than one to be seen. An API that needs longer than that for
 * a poll is left in peace for a whole one.
 */
const restAfter = (elapsed: number, interval: number): number =>
  elapsed >= 0 && elapsed < interval ? interval - elapsed : interval
