/** When a reading begins, how many there are, and that those who ask get one that knows what was there before they asked. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { manualClock } from '#test/harness/index.ts'
import { READING_INTERVAL_MS, SharedReadings } from './shared-readings.ts'

const { signal } = new AbortController()

const world = () => {
  const clock = manualClock()
  const begun: number[] = []
  const ends: { resolve: (value: number) => void; reject: (error: Error) => void }[] = []
  const readings = new SharedReadings<number>(() => {
    begun.push(clock.now().getTime())
    const { promise, ...end } = Promise.withResolvers<number>()
    ends.push(end)
    return promise
  }, clock)
  return { clock, begun, ends, readings }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('ADAPTER-118: a reading', () => {
  test('begins after it was asked for, at most one in a second, and at most one at a time', async () => {
    const step = fc.oneof(fc.constant('ask' as const), fc.constant('end' as const), fc.integer({ min: 1, max: 1_500 }))
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { clock, begun, ends, readings } = world()
        const told: Promise<void>[] = []
        for (const one of [...steps, 5_000, 'end', 5_000, 'end'] as const) {
          const at = begun.length
          if (one === 'ask')
            told.push(readings.next('n', signal).then((reading) => expect(reading).toBeGreaterThanOrEqual(at)))
          else if (one === 'end') ends.at(-1)?.resolve(ends.length - 1)
          else await clock.advance(one)
          await turn()
        }
        await Promise.all(told)
        const pauses = begun.slice(1).map((moment, index) => moment - (begun[index] ?? 0))
        expect(pauses.filter((pause) => pause < READING_INTERVAL_MS)).toEqual([])
      }),
    )
  })
  test('that is not older than a second serves where that is enough', async () => {
    const { clock, begun, ends, readings } = world()
    const both = [readings.recent('n', signal), readings.recent('n', signal)]
    await turn()
    ends[0]?.resolve(7)
    expect(await Promise.all(both)).toEqual([7, 7])
    await clock.advance(READING_INTERVAL_MS - 1)
    expect(await readings.recent('n', signal)).toBe(7)
    await clock.advance(1)
    void readings.recent('n', signal)
    await turn()
    expect(begun).toHaveLength(2)
  })
  test('that fails is told to those who wait for it, and to none after', async () => {
    const { clock, ends, readings } = world()
    const first = expect(readings.recent('n', signal)).rejects.toThrow('cut')
    await turn()
    ends[0]?.reject(new Error('cut'))
    await first
    const second = readings.recent('n', signal)
    await clock.advance(READING_INTERVAL_MS)
    await turn()
    ends[1]?.resolve(8)
    expect(await second).toBe(8)
  })
  test('is not waited for by one whose work has ended, and goes on for the others', async () => {
    const { ends, readings } = world()
    const ended = new AbortController()
    const left = expect(readings.next('n', ended.signal)).rejects.toThrow('over')
    const waits = readings.next('n', signal)
    ended.abort(new Error('over'))
    await left
    await turn()
    ends[0]?.resolve(9)
    expect(await waits).toBe(9)
  })
})
