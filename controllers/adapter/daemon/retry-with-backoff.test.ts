import { expect, test } from 'vitest'
import { manualClock } from '#test/harness/clock.ts'
import { retryWithBackoff } from './retry-with-backoff.ts'

const breaking = (clock = manualClock()) => {
  const stop = new AbortController()
  const pauses: number[] = []
  const onFailure = (_error: unknown, pause: number) => void pauses.push(pause)
  return { clock, stop, pauses, options: { clock, signal: stop.signal, onFailure } }
}

test('ADAPTER-23: work that fails is started again by itself, later each time, until it ends', async () => {
  const { clock, pauses, options } = breaking()
  let begun = 0
  const ended = retryWithBackoff(async () => {
    if (++begun <= 10) throw new Error('no')
  }, options)
  await clock.advance('1h')
  await ended
  expect([begun, pauses.map((pause) => pause / 1_000)]).toEqual([11, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]])
})

test('ADAPTER-23: work that went on for long is started again soon', async () => {
  const { clock, stop, pauses, options } = breaking()
  const ended = retryWithBackoff(async () => {
    await clock.sleep(pauses.length === 3 ? '10m' : 0)
    throw new Error('no')
  }, options)
  await clock.advance('11m')
  expect(pauses.slice(0, 5)).toEqual([1_000, 2_000, 4_000, 1_000, 2_000])
  stop.abort()
  await ended
})

test('work that is aborted is not started again', async () => {
  const { clock, stop, pauses, options } = breaking()
  let begun = 0
  const ended = retryWithBackoff(async () => {
    begun++
    throw new Error('no')
  }, options)
  await clock.advance('0s')
  stop.abort()
  await ended
  await clock.advance('1h')
  expect([begun, pauses]).toEqual([1, [1_000]])
})
