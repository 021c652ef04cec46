import { describe, expect, test } from 'vitest'
import { FEEDS, type Feed, initialSyncStates, type SyncEvent, summarizeSync, withSyncEvent } from './sync-state.ts'

const at = (second: number) => new Date(second * 1_000)
type Step = readonly [Feed, SyncEvent]

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
    expect(having(...replayed, ['heartbeats', { type: 'Wiped' }], ['heartbeats', { type: 'Replayed' }]).phase).toBe(
      'Converged',
    )
  })
})
