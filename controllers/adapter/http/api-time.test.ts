import { expect, test } from 'vitest'
import { manualClock } from '#test/harness/clock.ts'
import { ApiTime } from './api-time.ts'

/** A machine whose clock is off by so many milliseconds, and an API whose clock is right. */
const machine = () => {
  const right = manualClock()
  const state = { skew: 0 }
  const clock = {
    now: () => new Date(right.now().getTime() + state.skew),
    sleep: right.sleep,
    monotonic: () => right.now().getTime(),
  }
  const time = new ApiTime(clock)
  /** An answer of an API whose clock is off by `step`, after `took` milliseconds. */
  const answer = (step = 0, took = 0) =>
    time.record(new Date(right.now().getTime() + step).toUTCString(), right.now().getTime() - took)
  const off = () => time.clock.now().getTime() - right.now().getTime()
  return { right, state, time, answer, off }
}

test('ADAPTER-111: a time that differs by more than a minute is the API’s, another is the machine’s own', () => {
  const { state, answer, off } = machine()
  state.skew = 600_000
  expect(off()).toBe(600_000)
  answer()
  expect(Math.abs(off())).toBeLessThanOrEqual(1_000)
  state.skew = -3_600_000
  expect(Math.abs(off())).toBeLessThanOrEqual(1_000)
  // Once it counts, it does so until the two differ by less than half of that.
  state.skew = 45_000
  expect(Math.abs(off())).toBeLessThanOrEqual(1_000)
  state.skew = 20_000
  expect(off()).toBe(20_000)
  state.skew = 45_000
  expect(off()).toBe(45_000)
})

test('ADAPTER-111: an answer with another time than those before counts when the next one tells the same', async () => {
  const { state, right, answer, off } = machine()
  state.skew = 600_000
  answer()
  answer(7_200_000)
  expect(Math.abs(off())).toBeLessThanOrEqual(1_000)
  answer()
  answer(7_200_000)
  expect(Math.abs(off())).toBeLessThanOrEqual(1_000)
  await right.advance(1_000)
  answer(7_200_000)
  expect(Math.abs(off() - 7_200_000)).toBeLessThanOrEqual(1_000)
})

test('ADAPTER-111: time goes on evenly between answers, and slow or odd ones tell nothing', async () => {
  const { state, right, time, answer, off } = machine()
  state.skew = 600_000
  for (const date of [undefined, 'yesterday', ['x']]) time.record(date, 0)
  answer(0, 10_001)
  expect(off()).toBe(600_000)
  answer()
  const first = off()
  for (let at = 0; at < 100; at++) {
    await right.advance(333)
    answer()
    expect(off()).toBe(first)
  }
})
