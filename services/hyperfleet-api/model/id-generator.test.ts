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

// API-182
test('attack: a tenant tells by two of its ids of one millisecond how many others were made between them; as many as may be', () => {
  const now = new Date(1_700_000_000_000)
  const counterOf = (id: string) => Number.parseInt(id.slice(15, 18), 16)
  /** By how much the counter went on from one of its ids to the next, with so many of others between, each time in a new process. */
  const steps = (others: number) =>
    Array.from({ length: 2_000 }, () => {
      const newId = createIdGenerator(() => now)
      const mine = newId()
      for (let n = 0; n < others; n += 1) newId()
      return counterOf(newId()) - counterOf(mine)
    })
  const [none, one] = [steps(0), steps(1)]
  const common = none.filter((step) => one.includes(step)).length
  expect(common).toBeGreaterThan(1_800)
  expect(new Set(Array.from({ length: 200 }, () => counterOf(createIdGenerator(() => now)()))).size).toBeGreaterThan(
    100,
  )
})
