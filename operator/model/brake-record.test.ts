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
  ['none in a minute', '2026-01-01T12:00Z=0'],
])('%s counts for nothing', ([, text]) => {
  expect(parseBrakeRecord(text, 0)).toEqual([])
})

// RUNTIME-71
test('the newest counts from now, whatever clocks say, and the rest is as much older as it was written', () => {
  const record = '2026-01-01T11:55Z=1,2026-01-01T11:58Z=2,2026-01-01T12:00Z=3'
  const minute = 60_000
  expect(parseBrakeRecord(record, 0)).toEqual([-4 * minute - 1, -minute - 1, -minute - 1, 0, 0, 0])
})

// RUNTIME-71
test('what was written ten minutes before the newest counts no more', () => {
  expect(parseBrakeRecord('2026-01-01T11:49Z=5,2026-01-01T12:00Z=1', 0)).toEqual([0])
})

const step = fc.record({
  more: fc.nat(30),
  wait: fc.nat(120_000),
  isNewLeader: fc.boolean(),
  /** Of the time of day against the real time, from then on. */
  skew: fc.integer({ min: -86_400_000, max: 86_400_000 }),
  /** When the monotonic clock of the next leader was 0. */
  start: fc.nat(86_400_000),
})

// RUNTIME-71
test('whatever leaders and clocks change, within ten real minutes no more than the limit is deleted without a person', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const total = 300
      const deleted: number[] = []
      let brake = new DeletionBrake()
      let record = ''
      let [real, start, next] = [NOON, NOON, 0]
      for (const { more, wait, isNewLeader, skew, start: later } of steps) {
        real += wait
        if (isNewLeader) {
          start = real - later
          brake = new DeletionBrake()
          brake.recall(parseBrakeRecord(record, real - start))
        }
        const now = real - start
        const deletions = Array.from({ length: more }, (_, i) => ({ key: `k${next + i}`, revision: 1 }))
        next += more
        const { free } = brake.decide({ deletions, total, released: undefined, now })
        record = formatBrakeRecord(brake.recent(free, now), { epoch: start + skew })
        for (const one of free) {
          brake.deleted(one, now)
          deleted.push(real)
        }
        const recent = deleted.filter((at) => real - at < BRAKE_WINDOW_MS).length
        expect(recent).toBeLessThanOrEqual(brakeLimit(total + recent, DEFAULT_BRAKE_LIMITS))
      }
    }),
  )
})

// RUNTIME-71
test('what was let through counts for at most ten minutes from the moment in which the last leader read it', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(600_000), { minLength: 1, maxLength: 20 }), fc.integer(), (ages, epoch) => {
      const recalled = parseBrakeRecord(formatBrakeRecord(ages, { epoch }), 0)
      expect(recalled.length).toBeLessThanOrEqual(ages.length)
      for (const at of recalled) expect(at).toBeLessThanOrEqual(0)
    }),
  )
})
