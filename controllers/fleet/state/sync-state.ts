/**
 * How fresh what the operator knows is, by source. Live, not tripped once: a source that is lost shows at once.
 *
 *   Recovering ── replayed ──► Converged ── lost ──► Degraded ── replayed ──► Converged
 *        ▲                                               │
 *        └──────────────── wiped (what was known is gone) ┘
 *
 * FLEET-11, FLEET-12, FLEET-13. Pure: what time it is comes as a parameter.
 */

import type { Source, SyncState } from '#apis/fleet.nationtech.io/fleet-view.ts'

/** What is read until its end and then followed: each kind and each bucket by itself, so that one that is back hides no other. FLEET-71. */
export const FEEDS = ['deployments', 'revisions', 'devices', 'infos', 'desired', 'states', 'heartbeats'] as const
export type Feed = (typeof FEEDS)[number]

/** Those that are buckets in NATS. */
export const NATS_FEEDS = ['infos', 'desired', 'states', 'heartbeats'] as const satisfies readonly Feed[]
export type NatsFeed = (typeof NATS_FEEDS)[number]

/**
 * Devices come from what agents report of them. Without heartbeats and what was asked of devices, states don't say whether their
 * devices are there and what they answer.
 */
const FEEDS_BY_SOURCE = {
  // Without its revisions it is unknown what of a Deployment is rolled out.
  deployments: ['deployments', 'revisions'],
  devices: ['devices', 'infos'],
  states: ['states', 'heartbeats', 'desired'],
} as const satisfies Record<Source, readonly Feed[]>

/** What follows from a phase, for the log. */
export const PHASE_MEANINGS = {
  Recovering: 'the fleet is being read, nothing is written until all of it was read',
  Degraded: 'a source is away, what is known of it is of before until it is back',
  Converged: 'every source is up to date',
} as const satisfies Record<SyncState['phase'], string>

/** What a source tells of its reading. */
export type SyncEvent =
  | { readonly type: 'Progress'; readonly replayed: number; readonly total?: number }
  /** The end of what was there is reached; for an empty bucket that is at once. */
  | { readonly type: 'Replayed' }
  | { readonly type: 'Lost'; readonly problem: string }
  /** The store was made anew, or went back: what is known of it holds no longer. */
  | { readonly type: 'Wiped'; readonly cause?: string }

const recovering = (since: Date, cause?: string): SyncState => ({
  phase: 'Recovering',
  since,
  replayed: 0,
  total: undefined,
  problem: undefined,
  cause,
})

/** The state after an event. `since` moves only when the phase does. */
export const applySyncEvent = (state: SyncState, event: SyncEvent, now: Date): SyncState => {
  switch (event.type) {
    case 'Progress':
      if (state.phase !== 'Recovering') return state
      return { ...state, replayed: event.replayed, total: event.total ?? state.total, problem: undefined }
    case 'Replayed':
      return state.phase === 'Converged' ? state : { phase: 'Converged', since: now }
    case 'Lost':
      if (state.phase === 'Recovering') return { ...state, problem: event.problem }
      return { phase: 'Degraded', since: state.phase === 'Degraded' ? state.since : now, problem: event.problem }
    case 'Wiped':
      return recovering(now, event.cause)
  }
}

/** All feeds at once; a value, so that every reader sees one moment. */
export type SyncStates = Readonly<Record<Feed, SyncState>>

/** As they are at the start. */
export const initialSyncStates = (now: Date): SyncStates => ({
  deployments: recovering(now),
  revisions: recovering(now),
  devices: recovering(now),
  infos: recovering(now),
  desired: recovering(now),
  states: recovering(now),
  heartbeats: recovering(now),
})

export const withSyncEvent = (states: SyncStates, feed: Feed, event: SyncEvent, now: Date): SyncStates => ({
  ...states,
  [feed]: applySyncEvent(states[feed], event, now),
})

/** NATS can't be read: since when, and why. */
export interface NatsOutage {
  readonly since: Date
  readonly problem: string
}

/** Undefined while every bucket is read, or being read. */
export const findNatsOutage = (states: SyncStates): NatsOutage | undefined => {
  for (const feed of NATS_FEEDS) {
    const state = states[feed]
    if (state.phase !== 'Converged' && state.problem !== undefined)
      return { since: state.since, problem: state.problem }
  }
  return undefined
}

const SEVERITY = { Recovering: 2, Degraded: 1, Converged: 0 } as const

/** The gravest; of several as grave the one that is so for longest, but converged is only what converged last. */
const worst = (states: readonly SyncState[]): SyncState | undefined =>
  states.toSorted(
    (a, b) =>
      SEVERITY[b.phase] - SEVERITY[a.phase] ||
      (a.phase === 'Converged' ? b.since.getTime() - a.since.getTime() : a.since.getTime() - b.since.getTime()),
  )[0]

/** How a source stands: as the gravest of its feeds. */
export const sourceSyncState = (states: SyncStates, source: Source): SyncState =>
  worst(FEEDS_BY_SOURCE[source].map((feed) => states[feed])) ?? states[FEEDS_BY_SOURCE[source][0]]

/** How all of it stands: what the banner shows, and readiness. */
export const summarizeSync = (
  states: SyncStates,
): { readonly phase: SyncState['phase']; readonly sources: Record<Source, SyncState> } => {
  const sources = {
    deployments: sourceSyncState(states, 'deployments'),
    devices: sourceSyncState(states, 'devices'),
    states: sourceSyncState(states, 'states'),
  }
  return { phase: worst(Object.values(sources))?.phase ?? 'Recovering', sources }
}
