import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatBrakeRecord, parseBrakeRecord } from './brake-record.ts'
import { BRAKE_WINDOW_MS, brakeLimit, DEFAULT_BRAKE_LIMITS, DeletionBrake } from './deletion-brake.ts'

const NOON = Date.parse('2026-01-01T12:00:00Z')

// RUNTIME-71
test('it says how many went in each minute', () => {
  expect(formatBrakeRecord([NOON, NOON + 59_999, NOON + 60_000], { epoch: 0 })).toBe(
    '2026-01-01T12:00Z=2,2026-01-01T12:01Z=1',
  )
  expect(formatBrakeRecord([], { epoch: 0 })).toBe('')
})

// RUNTIME-71
test.for<[string, string | undefined]>([
  ['none', undefined],
  ['an empty one', ''],
  ['what a slip of the pen left', 'yesterday=3,=,2026-01-01T12:00Z=many,2026-13-01T12:00Z=2'],
  ['one of an hour ago', '2026-01-01T11:00Z=12'],
])('%s counts for nothing', ([, text]) => {
  expect(parseBrakeRecord(text, { now: NOON, epoch: 0 })).toEqual([])
})

test('a clock that is ahead is taken for now', () => {
  expect(parseBrakeRecord('2026-01-01T13:00Z=2', { now: NOON, epoch: 0 })).toEqual([NOON, NOON])
})

// RUNTIME-71
test('a process whose clock began at another time counts on from the same moments', () => {
  const record = formatBrakeRecord([0, 30_000, 60_000], { epoch: NOON })
  expect(record).toBe('2026-01-01T12:00Z=2,2026-01-01T12:01Z=1')
  expect(parseBrakeRecord(record, { now: 0, epoch: NOON + 300_000 })).toEqual([-240_001, -240_001, -180_001])
})

// RUNTIME-71
test('whatever leaders change, within ten minutes no more than the limit is deleted without a person', () => {
  const step = fc.record({ more: fc.nat(30), wait: fc.nat(120_000), isNewLeader: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const total = 300
      const deleted: number[] = []
      let brake = new DeletionBrake()
      let record = ''
      let [now, next] = [NOON, 0]
      for (const { more, wait, isNewLeader } of steps) {
        now += wait
        if (isNewLeader) {
          brake = new DeletionBrake()
          brake.recall(parseBrakeRecord(record, { now, epoch: 0 }))
        }
        const deletions = Array.from({ length: more }, (_, i) => ({ key: `k${next + i}`, revision: 1 }))
        next += more
        const { free } = brake.decide({ deletions, total, released: undefined, now })
        record = formatBrakeRecord(brake.recent(free, now), { epoch: 0 })
        for (const one of free) {
          brake.deleted(one, now)
          deleted.push(now)
        }
        const recent = deleted.filter((at) => now - at < BRAKE_WINDOW_MS).length
        expect(recent).toBeLessThanOrEqual(brakeLimit(total + recent, DEFAULT_BRAKE_LIMITS))
      }
    }),
  )
})
