import { expect, test } from 'vitest'
import { Slots } from './slots.ts'

test('so many go on at once, the others in their order; one that fails makes room as well', async () => {
  const slots = new Slots(2)
  const begun: number[] = []
  const ends: ((error?: Error) => void)[] = []
  const all = [0, 1, 2, 3].map((index) =>
    slots.run(
      () =>
        new Promise<number>((resolve, reject) => {
          begun.push(index)
          ends[index] = (error) => (error === undefined ? resolve(index) : reject(error))
        }),
    ),
  )
  expect(begun).toEqual([0, 1])
  ends[1]?.(new Error('no'))
  await expect(all[1]).rejects.toThrow('no')
  expect(begun).toEqual([0, 1, 2])
  ends[0]?.()
  await all[0]
  expect(begun).toEqual([0, 1, 2, 3])
  ends[2]?.()
  ends[3]?.()
  expect(await Promise.all([all[0], all[2], all[3]])).toEqual([0, 2, 3])
})
