import { expect, test } from 'vitest'
import { createIdGenerator } from './id-generator.ts'

test('ids of one process sort in the order they were made, also when the clock stands still or goes back', () => {
  const times = [1_700_000_000_000, 1_700_000_000_000, 1_699_999_999_000, 1_700_000_000_001]
  let call = 0
  const newId = createIdGenerator(() => new Date(times[Math.floor(call++ / 3000)] ?? 1_700_000_000_002))
  const ids = Array.from({ length: 13_000 }, newId)
  expect(ids).toEqual(ids.toSorted())
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of [ids[0], ids.at(-1)])
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
