import { randomBytes } from 'node:crypto'
import { detach } from '#lib/process/detach.ts'
import type { Clock } from '../model/clock.ts'
import type { Duration } from '../model/duration.ts'
import type { Logger } from '../model/log.ts'
import type { KubeObject } from '../model/resource.ts'
import type { Api } from './api.ts'
import { ApiError } from './errors.ts'
import { createEventCorrelator, type EventSeries } from './event-correlator.ts'
import type { Reporter } from './event-object.ts'
import { EventWriter } from './event-writer.ts'
import { referenceTo } from './object-reference.ts'

/** Writes Kubernetes events about one object. Never throws and never waits. */
export interface EventRecorder {
  /** @param reason CamelCase, from a small set */
  normal(reason: string, message: string): void
  warning(reason: string, message: string): void
}

/** Everything that is said with events. What comes too often is counted in one event; what is too much is dropped. */
export interface Events {
  about(object: KubeObject): EventRecorder
  /** Takes no more and sends what waits, for at most so long. */
  close(within: Duration): Promise<void>
}

export interface EventsOptions extends Reporter {
  readonly api: Api
  readonly clock: Clock
  readonly log: Logger
  /** Makes event names unique. Default: 16 random hex digits. */
  readonly suffix?: () => string
}

/** Events that wait to be sent; more are dropped, because an API server that is so far behind needs no more of them. */
const QUEUE_LENGTH = 1_000
/** How often a repeated event's count is brought up to date. */
const REFRESH = '30s'
/** For an API server that is away for a moment. */
const ATTEMPTS = 4
const RETRY_AFTER = '5s'

export const createEvents = (options: EventsOptions): Events => {
  const { api, clock, log, suffix = () => randomBytes(8).toString('hex') } = options
  const book = createEventCorrelator()
  const waiting = new Set<EventSeries>()
  const closing = new AbortController()
  const givenUp = new AbortController()
  const writer = new EventWriter(api.withLimits({ signal: givenUp.signal }), options, suffix)
  let sending: Promise<void> | undefined

  const enqueue = (series: EventSeries): void => {
    if (waiting.size >= QUEUE_LENGTH) {
      log.debug('an event is dropped, too many wait', { reason: series.occurrence.reason })
      return
    }
    waiting.add(series)
    sending ??= sendAll()
  }

  const sendAll = async (): Promise<void> => {
    for (const series of waiting) {
      waiting.delete(series)
      await send(series)
      if (givenUp.signal.aborted) break
    }
    sending = undefined
  }

  const send = async (series: EventSeries): Promise<void> => {
    for (let attempt = 1; !givenUp.signal.aborted; attempt += 1) {
      try {
        return await writer.write(series)
      } catch (error) {
        const mayPass = !(error instanceof ApiError) || error.status >= 500 || error.status === 429
        if (!mayPass || attempt === ATTEMPTS) {
          log.debug('an event could not be written, it is dropped', { reason: series.occurrence.reason, err: error })
          return
        }
        await clock.sleep(RETRY_AFTER, givenUp.signal)
      }
    }
  }

  /** Counts of repeated events go out every now and then, not each time. */
  const refresh = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await clock.sleep(REFRESH, closing.signal)
      for (const series of book.unsent()) enqueue(series)
      book.forget(clock.now().getTime())
    }
  }
  detach('counting repeated events', refresh())

  const record = (type: 'Normal' | 'Warning', object: KubeObject, reason: string, note: string): void => {
    if (closing.signal.aborted) return
    const series = book.note({ type, reason, note, regarding: referenceTo(object) }, clock.now().getTime())
    if (series?.count === 1) enqueue(series)
  }

  return {
    about: (object) => ({
      normal: (reason, message) => record('Normal', object, reason, message),
      warning: (reason, message) => record('Warning', object, reason, message),
    }),
    async close(within) {
      closing.abort()
      for (const series of book.unsent()) enqueue(series)
      detach(
        'waiting for the last events',
        clock.sleep(within, givenUp.signal).then(() => givenUp.abort()),
      )
      await sending
      givenUp.abort()
    },
  }
}
