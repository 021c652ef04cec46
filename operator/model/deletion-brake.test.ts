import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BRAKE_WINDOW_MS, brakeLimit, DEFAULT_BRAKE_LIMITS, DeletionBrake, digestDeletions } from './deletion-brake.ts'

const deletions = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ key: `k${from + i}`, revision: 1 }))

const held = (brake: DeletionBrake, count: number, total: number, released?: string) => {
  const { free, verdict } = brake.decide({ deletions: deletions(count), total, released, now: 0 })
  if (verdict.verdict !== 'Held') throw new Error('it is not held')
  return { free, ...verdict }
}

// RUNTIME-47
test.each([
  [0, 100, 'Free'],
  [20, 20, 'Free'],
  [21, 21, 'Held'],
  [21, 209, 'Held'],
  [21, 210, 'Free'],
  [1_000, 10_000, 'Free'],
  [1_001, 10_000, 'Held'],
] as const)('%i deletions of %i: %s', (count, total, verdict) => {
  const decision = new DeletionBrake().decide({ deletions: deletions(count), total, released: undefined, now: 0 })
  expect(decision.verdict.verdict).toBe(verdict)
  expect(decision.free).toHaveLength(verdict === 'Free' ? count : 0)
})

// RUNTIME-47
test('what is held is listed, and a person releases what was shown, not what came later', () => {
  const brake = new DeletionBrake()
  const shown = held(brake, 30, 100)
  expect(shown).toMatchObject({ limit: 20, total: 100, free: [], deletions: deletions(30) })
  const later = held(brake, 31, 100, shown.release)
  expect(later.free).toEqual(deletions(30))
  expect(later.deletions).toEqual(deletions(1, 30))
  // Of another revision, it is another thing.
  const anew = deletions(30).map((one) => ({ ...one, revision: 2 }))
  const decision = new DeletionBrake().decide({ deletions: anew, total: 100, released: shown.release, now: 0 })
  expect(decision.free).toEqual([])
})

// RUNTIME-47
test('another replica takes the release of the same set', () => {
  const { release } = held(new DeletionBrake(), 30, 100)
  const other = new DeletionBrake().decide({
    deletions: deletions(30).toReversed(),
    total: 100,
    released: release,
    now: 0,
  })
  expect(other).toMatchObject({ verdict: { verdict: 'Free' } })
  expect(other.free).toHaveLength(30)
})

// RUNTIME-47
test('what was deleted counts for ten minutes; what is held is not released by time', () => {
  const brake = new DeletionBrake()
  const decide = (now: number, count: number, from: number) =>
    brake.decide({ deletions: deletions(count, from), total: 100, released: undefined, now })
  for (const one of decide(0, 15, 0).free) brake.deleted(one, 0)
  expect(decide(1_000, 6, 15).verdict).toMatchObject({ verdict: 'Held' })
  expect(decide(BRAKE_WINDOW_MS + 1, 6, 15).verdict).toMatchObject({ verdict: 'Held' })
  expect(decide(BRAKE_WINDOW_MS + 2, 0, 0).verdict).toEqual({ verdict: 'Free' })
  expect(decide(BRAKE_WINDOW_MS + 3, 6, 15).verdict).toEqual({ verdict: 'Free' })
})

test('a set has one name, in whatever order it comes', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string()), fc.nat(), (keys, seed) => {
      const set = keys.map((key) => ({ key, revision: 1 }))
      const turned = set.map((_, i) => set[(i + seed) % set.length] as (typeof set)[number])
      expect(digestDeletions(turned)).toBe(digestDeletions(set))
    }),
  )
})

// RUNTIME-47
test('in whatever steps they come, within ten minutes no more than the limit is deleted without a person', () => {
  const step = fc.record({ more: fc.nat(30), fewer: fc.nat(30), wait: fc.nat(120_000) })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.array(step, { maxLength: 30 }), (there, steps) => {
      const brake = new DeletionBrake()
      const deleted: number[] = []
      let now = 0
      let next = 0
      let open: { key: string; revision: number }[] = []
      for (const { more, fewer, wait } of steps) {
        now += wait
        // Some are wanted again meanwhile.
        open = open.slice(fewer)
        const room = Math.max(0, there - deleted.length - open.length)
        open = [...open, ...deletions(Math.min(more, room), next)]
        next += more
        const decision = brake.decide({ deletions: open, total: there - deleted.length, released: undefined, now })
        for (const one of decision.free) {
          brake.deleted(one, now)
          deleted.push(now)
        }
        const kept = new Set(decision.free.map(({ key }) => key))
        open = open.filter(({ key }) => !kept.has(key))
        const recent = deleted.filter((at) => now - at < BRAKE_WINDOW_MS).length
        expect(recent).toBeLessThanOrEqual(brakeLimit(there, DEFAULT_BRAKE_LIMITS))
      }
    }),
  )
})
