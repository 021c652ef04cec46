import { expect, test } from 'vitest'
import { manualClock } from './clock.ts'

test('sleepers wake in the order of their times, each at its own moment', async () => {
  const clock = manualClock('2026-01-01T00:00:00Z')
  const woken: string[] = []
  const sleeper = async (name: string, duration: number) => {
    await clock.sleep(duration)
    woken.push(`${name} ${clock.now().toISOString()}`)
  }
  const all = Promise.all([sleeper('late', 2_000), sleeper('early', 1_000)])
  await clock.advance('5s')
  await all
  expect(woken).toEqual(['early 2026-01-01T00:00:01.000Z', 'late 2026-01-01T00:00:02.000Z'])
  expect(clock.now().toISOString()).toBe('2026-01-01T00:00:05.000Z')
})

test('a loop that sleeps again is woken as often as it would be', async () => {
  const clock = manualClock()
  const stop = new AbortController()
  let rounds = 0
  const loop = (async () => {
    while (!stop.signal.aborted) {
      await clock.sleep('10s', stop.signal)
      rounds++
    }
  })()
  await clock.advance('35s')
  expect(rounds).toBe(3)
  stop.abort()
  await loop
  expect(clock.sleepers()).toBe(0)
})

test('no sleeper wakes before the time', async () => {
  const clock = manualClock()
  void clock.sleep('10s')
  await clock.advance(9_999)
  expect(clock.sleepers()).toBe(1)
  await clock.advance(1)
  expect(clock.sleepers()).toBe(0)
})
