/** When a resource is pulsed next, and why. Nothing here reads a clock or a network: times are milliseconds since the epoch. */

/** Why a pulse is sent. A fixed set: reasons become metric labels and the API's event reasons. */
export const REASONS = ['New', 'SpecChanged', 'Deleting', 'NotReadyBackoffExpired', 'ReadyBackoffExpired'] as const
export type Reason = (typeof REASONS)[number]

/** How long to wait after the last report or pulse, in milliseconds. */
export interface Backoff {
  readonly notReady: number
  readonly ready: number
}

/** What is true of a resource now. */
export interface Facts {
  readonly generation: number
  /** Deletion was asked for and is not finished. */
  readonly deleting: boolean
  readonly ready: boolean
  /** When adapters last told how it is (see readiness.ts): the clock of the backoff. */
  readonly reference: number
}

/** What pulses already told of a resource; `generation` is undefined when none ever did. */
export interface Seen {
  readonly generation: number | undefined
  readonly deleting: boolean
  readonly pulsedAt: number | undefined
}

export const NEVER_SEEN: Seen = { generation: undefined, deleting: false, pulsedAt: undefined }

export interface Pulse {
  /** Due when now >= at (inclusive: seed, sentinel, Decision Engine). */
  readonly at: number
  readonly reason: Reason
}

/** A moment that has always passed. */
export const AT_ONCE = Number.NEGATIVE_INFINITY

/**
 * When the next pulse of a resource is due, and why.
 * Seeds: sentinel, Decision Engine (the two backoffs); pulses-and-status, "Sentinel will publish messages whenever" (spec change).
 */
export const nextPulse = (seen: Seen, facts: Facts, backoff: Backoff): Pulse => {
  if (seen.generation === undefined) return { at: AT_ONCE, reason: 'New' }
  if (facts.deleting && !seen.deleting) return { at: AT_ONCE, reason: 'Deleting' }
  if (facts.generation > seen.generation) return { at: AT_ONCE, reason: 'SpecChanged' }
  const since = Math.max(facts.reference, seen.pulsedAt ?? facts.reference)
  return facts.ready
    ? { at: since + backoff.ready, reason: 'ReadyBackoffExpired' }
    : { at: since + backoff.notReady, reason: 'NotReadyBackoffExpired' }
}
