import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Source } from '#apis/fleet.nationtech.io/fleet-view.ts'
import {
  FEEDS,
  type Feed,
  findNatsOutage,
  initialSyncStates,
  type SyncEvent,
  sourceSyncState,
  summarizeSync,
  withSyncEvent,
} from './sync-state.ts'

const at = (second: number) => new Date(second * 1_000)
type Step = readonly [Feed, SyncEvent]

const FEEDS_OF: Readonly<Record<Source, readonly Feed[]>> = {
  deployments: ['deployments', 'revisions'],
  devices: ['devices', 'infos'],
  states: ['desired', 'states', 'heartbeats'],
}

/** What there is after the steps, the first of which happens in second 1. */
const having = (...steps: readonly Step[]) =>
  summarizeSync(
    steps.reduce((states, [feed, event], i) => withSyncEvent(states, feed, event, at(i + 1)), initialSyncStates(at(0))),
  )

const replayed = FEEDS.map((feed): Step => [feed, { type: 'Replayed' }])
const lost: Step = ['states', { type: 'Lost', problem: 'NATS is away' }]

describe('the states', () => {
  // FLEET-2, FLEET-11
  test('are Recovering until the last feed is replayed', () => {
    expect(having().phase).toBe('Recovering')
    for (const last of FEEDS) {
      const others = replayed.filter(([feed]) => feed !== last)
      expect(having(...others).phase).toBe('Recovering')
      expect(having(...others, [last, { type: 'Replayed' }]).phase).toBe('Converged')
    }
  })

  test('tell per source how far the replay is', () => {
    expect(having(['devices', { type: 'Progress', replayed: 812, total: 900 }]).sources.devices).toEqual({
      phase: 'Recovering',
      since: at(0),
      replayed: 812,
      total: 900,
      problem: undefined,
    })
  })

  // FLEET-11
  test('banner_returns_when_nats_drops: a source that is lost later shows since when and why, until it is back', () => {
    const degraded = having(...replayed, lost, ['states', { type: 'Lost', problem: 'still away' }])
    expect(degraded.phase).toBe('Degraded')
    expect(degraded.sources.states).toEqual({ phase: 'Degraded', since: at(FEEDS.length + 1), problem: 'still away' })
    expect(degraded.sources.devices.phase).toBe('Converged')
    expect(having(...replayed, lost, ['states', { type: 'Replayed' }]).phase).toBe('Converged')
  })

  // FLEET-11
  test('nats_down_at_start: what never was there is Recovering, with the reason, not Degraded', () => {
    expect(having(lost).sources.states).toMatchObject({ phase: 'Recovering', problem: 'NATS is away' })
    expect(having(...replayed.slice(0, 2), lost).phase).toBe('Recovering')
  })

  // FLEET-13
  test('kv_wiped: what was known is gone, so it recovers anew', () => {
    const recreated = having(...replayed, ['heartbeats', { type: 'Wiped' }])
    expect(recreated.phase).toBe('Recovering')
    expect(recreated.sources.states).toMatchObject({ phase: 'Recovering', since: at(FEEDS.length + 1) })
    const cause = 'it went back'
    const cutOff = having(
      ...replayed,
      ['states', { type: 'Wiped', cause }],
      ['states', { type: 'Progress', replayed: 1 }],
      lost,
    )
    expect(cutOff.sources.states).toMatchObject({ phase: 'Recovering', replayed: 1, cause, problem: 'NATS is away' })
    expect(having(...replayed, ['heartbeats', { type: 'Wiped' }], ['heartbeats', { type: 'Replayed' }]).phase).toBe(
      'Converged',
    )
  })
})

const statesAfter = (...steps: readonly Step[]) =>
  steps.reduce((states, [feed, event], i) => withSyncEvent(states, feed, event, at(i + 1)), initialSyncStates(at(0)))

describe('NATS is away', () => {
  test('when one of its buckets is lost, since then and with the reason', () => {
    expect(findNatsOutage(statesAfter(...replayed, lost))).toEqual({
      since: at(FEEDS.length + 1),
      problem: 'NATS is away',
    })
    expect(findNatsOutage(statesAfter(lost))).toEqual({ since: at(0), problem: 'NATS is away' })
  })

  test('not while its buckets are read, nor when they have been', () => {
    expect(findNatsOutage(statesAfter())).toBeUndefined()
    expect(findNatsOutage(statesAfter(...replayed))).toBeUndefined()
    expect(findNatsOutage(statesAfter(...replayed, lost, ['states', { type: 'Replayed' }]))).toBeUndefined()
  })

  test('not when the API server is', () => {
    expect(findNatsOutage(statesAfter(['deployments', { type: 'Lost', problem: 'refused' }]))).toBeUndefined()
  })
})

describe('a source of several feeds', () => {
  // FLEET-71
  test('has converged while each of its feeds has: one that is back hides no other', () => {
    const step = fc.tuple(
      fc.constantFrom(...FEEDS),
      fc.constantFrom<SyncEvent>({ type: 'Lost', problem: 'away' }, { type: 'Replayed' }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const states = statesAfter(...replayed, ...steps)
        const away = new Set(new Map(steps).entries().flatMap(([feed, { type }]) => (type === 'Lost' ? [feed] : [])))
        for (const [source, feeds] of Object.entries(FEEDS_OF))
          expect(sourceSyncState(states, source as Source).phase).toBe(
            feeds.some((feed) => away.has(feed)) ? 'Degraded' : 'Converged',
          )
      }),
    )
  })

  const lose = (feed: Feed): Step => [feed, { type: 'Lost', problem: feed }]

  test('is as the feed that has been away for longest', () => {
    const [a, b] = [statesAfter(...replayed, lose('heartbeats'), lose('states')), FEEDS.length + 1]
    expect(sourceSyncState(a, 'states')).toMatchObject({ phase: 'Degraded', since: at(b), problem: 'heartbeats' })
    const other = statesAfter(...replayed, lose('states'), lose('heartbeats'))
    expect(sourceSyncState(other, 'states')).toMatchObject({ phase: 'Degraded', since: at(b), problem: 'states' })
  })

  test('has converged when the last of them did', () => {
    expect(sourceSyncState(statesAfter(...replayed), 'states')).toEqual({
      phase: 'Converged',
      since: at(1 + FEEDS.indexOf('heartbeats')),
    })
    const turned = statesAfter(...replayed.toReversed())
    expect(sourceSyncState(turned, 'states')).toEqual({
      phase: 'Converged',
      since: at(FEEDS.length - FEEDS.indexOf('desired')),
    })
  })
})
