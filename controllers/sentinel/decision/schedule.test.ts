import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NEVER_PULSED, nextPulse, type PulseHistory, type ResourceState } from './decide.ts'
import { type ObservedResource, Schedule } from './schedule.ts'

const backoff = { notReady: 10, ready: 100 }
const KNOWN: PulseHistory = { generation: 1, deleting: false, pulsedAt: undefined }

const sighting = (
  id: string,
  facts: Partial<ResourceState> = {},
  recalled: PulseHistory = KNOWN,
): ObservedResource => ({
  id,
  state: { generation: 1, deleting: false, ready: false, reference: 0, ...facts },
  inferHistory: () => recalled,
})

/** Takes and pulses everything that is due. */
const drain = (schedule: Schedule, now: number): string[] => {
  const pulses: string[] = []
  for (let due = schedule.take(now); due !== undefined; due = schedule.take(now)) {
    pulses.push(`${due.id} ${due.reason}`)
    schedule.pulsed(due, now)
  }
  return pulses
}

test('a resource is due exactly when its backoff has passed, and not a moment before', () => {
  const schedule = new Schedule(backoff)
  schedule.observe(sighting('a'), 0)
  expect(drain(schedule, 9)).toEqual([])
  expect(drain(schedule, 10)).toEqual(['a NotReadyBackoffExpired'])
  expect(drain(schedule, 19)).toEqual([])
  expect(drain(schedule, 20)).toEqual(['a NotReadyBackoffExpired'])
})

test('a new generation is pulsed at once, and once', () => {
  const schedule = new Schedule(backoff)
  schedule.observe(sighting('a', { ready: true }), 0)
  schedule.observe(sighting('a', { generation: 2 }), 1)
  expect(drain(schedule, 1)).toEqual(['a SpecChanged'])
  expect(drain(schedule, 10)).toEqual([])
})

// SENTINEL-14
test('a generation that changes while its pulse is on the way gets its own pulse afterwards', () => {
  const schedule = new Schedule(backoff)
  schedule.observe(sighting('a', {}, NEVER_PULSED), 0)
  const first = schedule.take(0)
  schedule.observe(sighting('a', { generation: 2 }), 0)
  expect(schedule.take(0)).toBeUndefined()
  if (first !== undefined) schedule.pulsed(first, 0)
  expect(drain(schedule, 0)).toEqual(['a SpecChanged'])
})

test('a resource that leaves the shard and comes back during its pulse still has one pulse at a time', () => {
  const schedule = new Schedule(backoff)
  schedule.observe(sighting('a', {}, NEVER_PULSED), 0)
  const first = schedule.take(0)
  schedule.forget('a')
  schedule.observe(sighting('a', {}, NEVER_PULSED), 0)
  expect(schedule.take(0)).toBeUndefined()
  if (first !== undefined) schedule.pulsed(first, 0)
  expect(drain(schedule, 9)).toEqual([])
})

test('a failed pulse is tried again at the moment given, and the others are not held up', () => {
  const schedule = new Schedule(backoff)
  schedule.observe(sighting('a', {}, NEVER_PULSED), 0)
  const due = schedule.take(0)
  if (due !== undefined) schedule.failed(due, 5)
  schedule.observe(sighting('b', {}, NEVER_PULSED), 0)
  expect(drain(schedule, 4)).toEqual(['b New'])
  expect(drain(schedule, 5)).toEqual(['a New'])
})

// SENTINEL-20
test('what a sweep did not see is forgotten', () => {
  const schedule = new Schedule(backoff)
  schedule.observe(sighting('gone'), 0)
  schedule.observe(sighting('stays', { ready: true }), 0)
  schedule.beginSweep()
  schedule.observe(sighting('stays', { ready: true }), 1)
  schedule.endSweep()
  expect(schedule.counts()).toEqual({ ready: 1, notReady: 0 })
  expect(drain(schedule, 1_000)).toEqual(['stays ReadyBackoffExpired'])
})

test('new backoffs move what waits, without a pulse for what is not due', () => {
  const schedule = new Schedule(backoff)
  schedule.observe(sighting('a', { reference: 100 }), 100)
  schedule.setBackoff({ notReady: 50, ready: 100 })
  expect(drain(schedule, 149)).toEqual([])
  expect(drain(schedule, 150)).toEqual(['a NotReadyBackoffExpired'])
})

test('a resource with its own backoff follows it', () => {
  const schedule = new Schedule(backoff)
  schedule.observe({ ...sighting('a'), backoff: { notReady: 3 } }, 0)
  expect(drain(schedule, 2)).toEqual([])
  expect(drain(schedule, 3)).toHaveLength(1)
})

test('waiting counts neither what is due nor what is in flight', () => {
  const schedule = new Schedule(backoff)
  schedule.observe(sighting('in flight', {}, NEVER_PULSED), 0)
  schedule.take(0)
  schedule.observe(sighting('due', {}, NEVER_PULSED), 0)
  schedule.observe(sighting('waits'), 0)
  schedule.observe(sighting('waits, ready', { ready: true }), 0)
  expect(schedule.waiting(0)).toEqual({ ready: 1, notReady: 1 })
})

describe('clocks', () => {
  // SENTINEL-8
  test('a report from the future counts as made now', () => {
    const schedule = new Schedule(backoff)
    schedule.observe(sighting('a', { reference: 1_000_000 }), 5)
    expect(drain(schedule, 15)).toEqual(['a NotReadyBackoffExpired'])
  })
  // SENTINEL-12
  test('a clock set back by a year does not stop pulses for a year', () => {
    const schedule = new Schedule(backoff)
    schedule.observe(sighting('a'), 0)
    expect(drain(schedule, 1e12)).toHaveLength(1)
    expect(drain(schedule, 50)).toEqual([])
    expect(drain(schedule, 60)).toEqual(['a NotReadyBackoffExpired'])
  })
})

/** What the schedule must equal: a plain table that is searched from top to bottom. */
class Table {
  readonly rows = new Map<string, { facts: ResourceState; seen: PulseHistory }>()
  observe({ id, state, inferHistory }: ObservedResource): void {
    this.rows.set(id, { facts: state, seen: this.rows.get(id)?.seen ?? inferHistory() })
  }
  drain(now: number): string[] {
    const pulses: string[] = []
    for (const [id, row] of this.rows) {
      const { at, reason } = nextPulse(row.seen, row.facts, backoff)
      if (at > now) continue
      pulses.push(`${id} ${reason}`)
      row.seen = { generation: row.facts.generation, deleting: row.facts.deleting, pulsedAt: now }
    }
    return pulses
  }
}

const step = fc.record({
  wait: fc.nat(60),
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  act: fc.constantFrom('report', 'spec', 'delete', 'forget', 'nothing'),
  ready: fc.boolean(),
})

test('any history: the same pulses as a table searched from top to bottom', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const schedule = new Schedule(backoff)
      const table = new Table()
      let now = 0
      for (const { wait, id, act, ready } of steps) {
        now += wait
        const before = table.rows.get(id)?.facts
        if (act === 'forget') {
          schedule.forget(id)
          table.rows.delete(id)
        } else if (act !== 'nothing') {
          const facts: ResourceState = {
            generation: (before?.generation ?? 1) + (act === 'report' ? 0 : 1),
            deleting: (before?.deleting ?? false) || act === 'delete',
            ready: act === 'report' && ready,
            reference: now,
          }
          schedule.observe(sighting(id, facts, NEVER_PULSED), now)
          table.observe(sighting(id, facts, NEVER_PULSED))
        }
        expect(drain(schedule, now).sort()).toEqual(table.drain(now).sort())
        expect(schedule.size).toBe(table.rows.size)
      }
    }),
  )
})

// SENTINEL-10
test('any fleet without reports: each resource is pulsed once per backoff, neither more nor less', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }), (fleet) => {
      const schedule = new Schedule(backoff)
      const pulses = new Map<string, number>()
      for (const [index, ready] of fleet.entries()) schedule.observe(sighting(`${index}`, { ready }, NEVER_PULSED), 0)
      for (let now = 0; now <= 1_000; now++)
        for (const pulse of drain(schedule, now)) {
          const id = pulse.split(' ')[0] ?? ''
          pulses.set(id, (pulses.get(id) ?? 0) + 1)
        }
      for (const [index, ready] of fleet.entries()) expect(pulses.get(`${index}`)).toBe(1 + 1_000 / (ready ? 100 : 10))
    }),
  )
})

test('one resource is due at the same moment as in the order of all', () => {
  const schedule = new Schedule(backoff)
  schedule.observe(sighting('a'), 0)
  expect(schedule.takeIfDue('a', 9)).toBeUndefined()
  expect(schedule.takeIfDue('a', 10)).toMatchObject({ id: 'a', reason: 'NotReadyBackoffExpired' })
  expect(schedule.takeIfDue('a', 10)).toBeUndefined()
})

// SENTINEL-38
test('what is new or changed goes before what has waited longer, also after its pulse failed', () => {
  const schedule = new Schedule(backoff)
  schedule.observe(sighting('old', { reference: -1_000 }), 0)
  schedule.observe(sighting('new', {}, NEVER_PULSED), 0)
  const first = schedule.take(0)
  expect(first?.id).toBe('new')
  if (first !== undefined) schedule.failed(first, 5)
  expect(schedule.nextDue()).toBe(-990)
  expect(drain(schedule, 5)).toEqual(['new New', 'old NotReadyBackoffExpired'])
})

// SENTINEL-37
test('pulses that no report follows come ever more seldom, up to the longest backoff; a report begins anew', () => {
  const schedule = new Schedule({ ...backoff, notReadyMax: 80 })
  schedule.observe(sighting('a'), 0)
  const moments: number[] = []
  for (let now = 0; now <= 400; now++) if (drain(schedule, now).length > 0) moments.push(now)
  const waits = moments.map((moment, index) => moment - (moments[index - 1] ?? 0))
  expect(waits[0]).toBe(10)
  for (const [index, wait] of waits.slice(1).entries()) {
    expect(wait).toBeGreaterThanOrEqual(Math.min(80, 10 * 2 ** (index + 1)) * 0.8)
    expect(wait).toBeLessThanOrEqual(Math.min(80, 10 * 2 ** (index + 1)) + 1)
  }
  schedule.observe(sighting('a', { reference: 400 }), 400)
  expect(drain(schedule, 409)).toEqual([])
  expect(drain(schedule, 410)).toEqual(['a NotReadyBackoffExpired'])
})
