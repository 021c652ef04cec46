import type { Api } from './api.ts'
import { isAlreadyExists, isNotFound } from './errors.ts'
import type { EventSeries } from './event-correlator.ts'
import { EVENTS, eventOf, type Reporter } from './event-object.ts'

/** Brings events in the API server up to the series that they count. All throw as the API does. */
export class EventWriter {
  readonly #api: Api
  readonly #reporter: Reporter
  readonly #suffix: () => string
  /** One name a series, so that a second try finds what the first one made. */
  readonly #suffixes = new WeakMap<EventSeries, string>()

  /** @param suffix makes event names unique */
  constructor(api: Api, reporter: Reporter, suffix: () => string) {
    this.#api = api
    this.#reporter = reporter
    this.#suffix = suffix
  }

  async write(series: EventSeries): Promise<void> {
    const { count } = series
    // Asked for again while it was on its way.
    if (count === series.sentCount) return
    const event = eventOf(series, this.#suffixOf(series), this.#reporter)
    const state = series.sentCount > 0 ? 'there' : await this.#create(event)
    if (state === 'there' && event.series !== undefined) {
      try {
        await this.#api.patch(EVENTS, { ...event.metadata, type: 'merge', body: { series: event.series } })
      } catch (error) {
        if (!isNotFound(error)) throw error
        series.sentCount = 0 // it has expired in the API server
        return this.write(series)
      }
    }
    series.sentCount = count
  }

  #suffixOf(series: EventSeries): string {
    const known = this.#suffixes.get(series) ?? this.#suffix()
    this.#suffixes.set(series, known)
    return known
  }

  /** @returns 'there' when an earlier try made it, and the answer to that was lost */
  async #create(event: ReturnType<typeof eventOf>): Promise<'made' | 'there'> {
    try {
      await this.#api.create(EVENTS, event)
      return 'made'
    } catch (error) {
      if (isAlreadyExists(error)) return 'there'
      throw error
    }
  }
}
