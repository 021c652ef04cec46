/** Remembers what was reported, so that the same is not sent again and again while nothing changes. */

/** For how long an equal report says nothing new, in milliseconds. Design page 50, A run. */
export const QUIET = 30_000

/** Fields that differ in reports which say the same. */
const TIMES = new Set(['observed_time', 'last_updated_time', 'last_transition_time', 'lastTransitionTime'])

export class Outbox {
  readonly #sent = new Map<string, { readonly text: string; readonly at: number }>()

  /** @param key which report of which resource; @param now milliseconds since the epoch */
  isRepetition(key: string, body: string, now: number): boolean {
    const before = this.#sent.get(key)
    return before !== undefined && now >= before.at && now - before.at < QUIET && before.text === essence(body)
  }

  /** It was taken. */
  sent(key: string, body: string, now: number): void {
    this.#sent.set(key, { text: essence(body), at: now })
  }

  /** Nothing is remembered for longer than it is of use. */
  forgetOld(now: number): void {
    for (const [key, { at }] of this.#sent) if (now - at >= QUIET) this.#sent.delete(key)
  }
}

/** What a report says, without when. */
const essence = (body: string): string => {
  try {
    return JSON.stringify(JSON.parse(body), (key, value) => (TIMES.has(key) ? undefined : value))
  } catch {
    return body
  }
}
