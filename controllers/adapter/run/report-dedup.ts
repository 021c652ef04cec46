/** Remembers the reports of the last seconds, so that an equal one is not sent again: ADAPTER-11. */

/** How long an equal report is not sent again. */
export const DEDUP_WINDOW_MS = 30_000

/** Fields that differ in reports which say the same. */
const TIMESTAMP_FIELDS = new Set(['observed_time', 'last_updated_time', 'last_transition_time', 'lastTransitionTime'])

export class ReportDedup {
  readonly #sent = new Map<string, { readonly text: string; readonly at: number }>()

  /** @param key which report of which resource; @param now milliseconds since the epoch */
  isRepeat(key: string, body: string, now: number): boolean {
    const before = this.#sent.get(key)
    return (
      before !== undefined &&
      now >= before.at &&
      now - before.at < DEDUP_WINDOW_MS &&
      before.text === withoutTimestamps(body)
    )
  }

  /** The API has taken the report. */
  recordSent(key: string, body: string, now: number): void {
    this.#sent.set(key, { text: withoutTimestamps(body), at: now })
  }

  /** Forgets reports that are older than the window. */
  dropExpired(now: number): void {
    for (const [key, { at }] of this.#sent) if (now - at >= DEDUP_WINDOW_MS) this.#sent.delete(key)
  }
}

/** What a report says, without when. */
const withoutTimestamps = (body: string): string => {
  try {
    return JSON.stringify(JSON.parse(body), (key, value) => (TIMESTAMP_FIELDS.has(key) ? undefined : value))
  } catch {
    return body
  }
}
