import { setImmediate as tick } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseSearch } from './parse-search.ts'
import { isCostly, SearchTurns } from './turns.ts'

const { signal } = new AbortController()

/** Searches that end when the test says so, in the order in which they began. */
const world = (total: number) => {
  const turns = new SearchTurns({ total, pauses: false })
  const running: { readonly caller: string; readonly end: () => void }[] = []
  const began: string[] = []
  const search = (caller: string, name = caller, more: object = {}) =>
    turns.run({ caller, signal, ...more }, async () => {
      began.push(name)
      await new Promise<void>((end) => running.push({ caller, end }))
      return name
    })
  return { search, running, began }
}

test('API-123: searches of one caller run one by one, and another caller does not wait for them', async () => {
  const { search, running, began } = world(2)
  const all = [search('a', 'a1'), search('a', 'a2'), search('a', 'a3'), search('b'), search('c')]
  await tick()
  expect(began).toEqual(['a1', 'b'])
  running.shift()?.end()
  await tick()
  // The first has waiting searches, but had its turn.
  expect(began).toEqual(['a1', 'b', 'c'])
  for (let left = 0; left < 4; left++) {
    running.shift()?.end()
    await tick()
  }
  expect(began).toEqual(['a1', 'b', 'c', 'a2', 'a3'])
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b', 'c'])
})

test('API-123: eight of a caller wait; one more is told when to come back, unless part of it is answered; others get in', async () => {
  const { search, running } = world(1)
  const waiting = Array.from({ length: 9 }, () => search('a'))
  await expect(search('a')).rejects.toMatchObject({ problem: 'tooManyRequests', headers: { 'Retry-After': '5' } })
  waiting.push(search('a', 'a', { isUnderWay: true }), search('b'))
  for (let ended = 0; ended < waiting.length; ended++) {
    await tick()
    running.shift()?.end()
  }
  expect(await Promise.all(waiting)).toHaveLength(11)
})

test('API-123: whatever ends, fails or is given up, every search that may wait gets its turn, and no more run than may', async () => {
  const step = fc.record({
    caller: fc.constantFrom('a', 'b', 'c'),
    fate: fc.constantFrom('ends', 'fails', 'leaves'),
    pauses: fc.nat(2),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), fc.integer({ min: 1, max: 3 }), async (steps, total) => {
      const turns = new SearchTurns({ total, pauses: false })
      const now = new Map<string, number>()
      const outcomes = steps.map(async ({ caller, fate, pauses }) => {
        const end = new AbortController()
        if (fate === 'leaves') void tick().then(() => end.abort(new Error('left')))
        return turns.run({ caller, signal: end.signal }, async () => {
          now.set(caller, (now.get(caller) ?? 0) + 1)
          expect(Math.max(...now.values())).toBe(1)
          expect([...now.values()].filter((count) => count > 0).length).toBeLessThanOrEqual(total)
          for (let at = 0; at < pauses; at++) await tick()
          now.set(caller, 0)
          if (fate === 'fails') throw new Error('failed')
        })
      })
      for (const { reason } of (await Promise.allSettled(outcomes)).filter((one) => one.status === 'rejected'))
        expect(String(reason)).toMatch(/left|failed|as many searches waiting/)
      await turns.run({ caller: 'a', signal }, async () => {})
    }),
  )
})

test.each([
  ["name = 'a'", false],
  ["labels.a = 'b' and name in ('a', 'b')", false],
  ["name like 'a%'", true],
  ["name = 'a' and not (name = 'b' or spec.x = 1)", true],
  ['spec.x is null', true],
])('%s is costly: %s', (search, is) => {
  expect(isCostly(parseSearch(search))).toBe(is)
})
