import { expect, test } from 'vitest'
import { manualClock } from '#test/harness/clock.ts'
import { AnswerTooSlowError, Movement, moving } from './moving.ts'

const WINDOW_MS = 30_000

/** So many chunks, one each `everyMs`. */
const read = async (chunks: number, bytes: number, everyMs: number, firstBytes = bytes): Promise<number> => {
  const clock = manualClock()
  const body = async function* () {
    for (let n = 0; n < chunks; n++) {
      await clock.advance(everyMs)
      yield Buffer.alloc(n === 0 ? firstBytes : bytes)
    }
  }
  let read = 0
  for await (const chunk of moving(body(), new Movement(clock, WINDOW_MS))) read += chunk.length
  return read
}

test('RUNTIME-54: an answer of 1 KB/s is read to its end, however long that takes', async () => {
  expect(await read(2_000, 1_024, 1_000)).toBe(2_000 * 1_024)
})

test('RUNTIME-54: a bookmark a minute keeps a quiet watch', async () => {
  expect(await read(100, 130, 60_000)).toBe(13_000)
})

test('RUNTIME-54: an answer of a byte now and then is given up after the time in which it may be silent', async () => {
  await expect(read(1_000, 1, 10_000)).rejects.toThrow(new AnswerTooSlowError(3, WINDOW_MS))
})

test('RUNTIME-54: so is one of which much came at first', async () => {
  await expect(read(1_000, 1, 10_000, 10_000)).rejects.toThrow(new AnswerTooSlowError(3, WINDOW_MS))
})

test('a short answer may come in pieces', async () => {
  expect(await read(3, 1, 9_000)).toBe(3)
})
