/** When a resource is pulsed next, and why. Nothing here reads a clock or a network: times are milliseconds since the epoch. */

import { growBackoff } from './growth.ts'

/** Why a pulse is sent. A fixed set: reasons become metric labels and the API's event reasons. */
export const REASONS = ['New', 'SpecChanged', 'Deleting', 'NotReadyBackoffExpired', 'ReadyBackoffExpired'] as const
export type Reason = (typeof REASONS)[number]

/** How long to wait after the last report or pulse, in milliseconds. */
export interface Backoff {
  readonly notReady: number
  readonly ready: number
  /** Up to how much `notReady` grows while no report follows; it does not grow when absent. */
  readonly notReadyMax?: number
}

/** What is true of a resource now. */
export interface ResourceState {
  readonly generation: number
  /** Deletion was asked for and is not finished. */
  readonly deleting: boolean
  readonly ready: boolean
  /** When adapters last told how it is (see readiness.ts): the clock of the backoff. */
  readonly reference: number
}

/** What pulses already told of a resource; `generation` is undefined when none ever did. */
export interface PulseHistory {
  readonly generation: number | undefined
  readonly deleting: boolean
  readonly pulsedAt: number | undefined
  /** How many pulses in a row no report followed, as far as this process knows; none when absent. */
  readonly fruitless?: number
}

export const NEVER_PULSED: PulseHistory = { generation: undefined, deleting: false, pulsedAt: undefined }

export interface NextPulse {
  /** Due when now >= at, inclusive (SENTINEL-4). */
  readonly at: number
  readonly reason: Reason
}

/** A moment that has always passed. */
export const IMMEDIATELY = Number.NEGATIVE_INFINITY

/**
 * When the next pulse of a resource is due, and why: SENTINEL-1 to SENTINEL-4.
 * @param spread in [0, 1): which part of a grown backoff's jitter is this resource's
 */
export const nextPulse = (history: PulseHistory, state: ResourceState, backoff: Backoff, spread = 0): NextPulse => {
  if (history.generation === undefined) return { at: IMMEDIATELY, reason: 'New' }
  if (state.deleting && !history.deleting) return { at: IMMEDIATELY, reason: 'Deleting' }
  if (state.generation > history.generation) return { at: IMMEDIATELY, reason: 'SpecChanged' }
  const since = Math.max(state.reference, history.pulsedAt ?? state.reference)
  return state.ready
    ? { at: since + backoff.ready, reason: 'ReadyBackoffExpired' }
    : { at: since + growBackoff(backoff, history.fruitless ?? 0, spread), reason: 'NotReadyBackoffExpired' }
}
