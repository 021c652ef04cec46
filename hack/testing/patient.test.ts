import { expect, test } from 'vitest'
import { patient } from './patient.ts'

/** As vitest waits: a look, then one every 50 ms, for so many milliseconds. Gives when it looked. */
const looksWithin = async (milliseconds: number, answer: () => unknown) => {
  let now = 0
  const looks: number[] = []
  const check = patient(
    () => {
      looks.push(now)
      return answer()
    },
    () => now,
    async (pause) => {
      now += pause
    },
  )
  for (; now < milliseconds; now += 50) await check()
  return looks
}

test('a wait that asks a server looks as often as told at first, then less often, and never less than four times a second', async () => {
  const looks = await looksWithin(10_000, async () => undefined)
  const pauses = looks.slice(1).map((at, index) => at - (looks[index] ?? 0))
  expect(looks.slice(0, 8)).toEqual([0, 50, 100, 150, 200, 250, 300, 350])
  expect(pauses).toEqual(pauses.toSorted((a, b) => a - b))
  expect(Math.max(...pauses)).toBe(250)
  expect(looks.length).toBeLessThan(60)
})

test('what a wait sees in memory costs nothing: it looks as often as told', async () => {
  expect(await looksWithin(10_000, () => undefined)).toHaveLength(200)
})

test('an answer that is refused is refused, and is looked for again', async () => {
  let looks = 0
  const check = patient(
    async () => {
      looks += 1
      if (looks === 1) throw new Error('not yet')
      return 'here'
    },
    () => 0,
    async () => undefined,
  )
  await expect(check()).rejects.toThrow('not yet')
  expect(await check()).toBe('here')
})
