import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '#operator/model/clock.ts'
import { manualClock } from '#test/harness/clock.ts'
import { createRoom, KEPT_MS } from './room.ts'

const SIZE = 100
const never = new AbortController().signal
/** For whom room is taken that depends on none. */
const holder = (caller: string, signal = never) => ({ caller, signal, cutOff: () => false })

// API-91, API-161
test('is never exceeded but by a single piece, leaves three quarters to others than one caller, and lets everyone in', async () => {
  const asked = fc.array(fc.record({ caller: fc.constantFrom('a', 'b', 'c'), bytes: fc.integer({ min: 1, max: 120 }) }))
  await fc.assert(
    fc.asyncProperty(asked, fc.infiniteStream(fc.nat()), async (pieces, choices) => {
      const room = createRoom(SIZE, systemClock)
      const held: { readonly caller: string; readonly bytes: number; readonly giveBack: () => void }[] = []
      let admitted = 0
      const sumOf = (caller?: string) =>
        held
          .filter((piece) => caller === undefined || piece.caller === caller)
          .reduce((sum, { bytes }) => sum + bytes, 0)
      const check = () => {
        expect(room.bytesInUse).toBe(sumOf())
        if (held.length > 1) expect(room.bytesInUse).toBeLessThanOrEqual(SIZE)
        for (const caller of ['a', 'b', 'c'])
          if (held.filter((piece) => piece.caller === caller).length > 1)
            expect(sumOf(caller)).toBeLessThanOrEqual(SIZE / 4)
      }
      const takes = pieces.map(async ({ caller, bytes }) => {
        const giveBack = await room.take(bytes, holder(caller))
        admitted += 1
        held.push({ caller, bytes, giveBack })
      })
      await turn()
      check()
      while (held.length > 0) {
        const [{ giveBack } = { giveBack: () => {} }] = held.splice((choices.next().value ?? 0) % held.length, 1)
        giveBack()
        await turn()
        check()
      }
      await Promise.all(takes)
      expect([admitted, room.bytesInUse]).toEqual([pieces.length, 0])
    }),
    { numRuns: 200 },
  )
})

test('a caller that gives nothing back keeps nothing but its share from others', async () => {
  const room = createRoom(SIZE, systemClock)
  for (let n = 0; n < 50; n += 1) void room.take(10, holder('greedy'))
  const giveBack = await room.take(SIZE * 0.75, holder('other'))
  expect(room.bytesInUse).toBe(95)
  giveBack()
})

test('who leaves while it waits takes no room', async () => {
  const room = createRoom(SIZE, systemClock)
  const giveBack = await room.take(SIZE, holder('a'))
  const leaving = new AbortController()
  const left = room.take(10, holder('b', leaving.signal))
  leaving.abort(new Error('left'))
  await expect(left).rejects.toThrow('left')
  giveBack()
  expect(room.bytesInUse).toBe(0)
})

// API-204
test('attack: callers that give nothing back until they are cut off, and then come again, keep another one waiting once each in a minute, however much it asks for', async () => {
  const attacks = fc.record({
    callers: fc.integer({ min: 1, max: 8 }),
    each: fc.integer({ min: 1, max: 6 }),
    bytes: fc.integer({ min: 1, max: SIZE / 4 }),
    wanted: fc.integer({ min: 1, max: SIZE * 0.75 }),
  })
  await fc.assert(
    fc.asyncProperty(attacks, async ({ callers, each, bytes, wanted }) => {
      const clock = manualClock()
      const room = createRoom(SIZE, clock)
      const REQUESTS = 50
      let served = 0
      const attack = async (caller: string): Promise<void> => {
        while (served < REQUESTS) {
          const ended = Promise.withResolvers<void>()
          const cutOff = () => {
            ended.resolve()
            return true
          }
          const giveBack = await room.take(bytes, { caller, signal: never, cutOff })
          await ended.promise
          giveBack()
        }
      }
      for (let n = 0; n < callers * each; n += 1) void attack(`attacker ${n % callers}`)
      await turn()
      const before = room.bytesInUse
      const ask = async (): Promise<void> => {
        while (served < REQUESTS) {
          const giveBack = await room.take(wanted, holder('other'))
          served += 1
          await turn()
          giveBack()
        }
      }
      const asked = ask()
      // Each attacker is cut off once.
      for (let n = 0; n <= callers; n += 1) {
        await clock.advance(KEPT_MS)
        for (let turns = 0; turns < 5 * REQUESTS; turns += 1) await turn()
      }
      expect(served).toBe(REQUESTS)
      await asked
      expect(before).toBeLessThanOrEqual(SIZE)
    }),
    { numRuns: 200 },
  )
})

// API-204
test('room is kept as long as no other one waits for it, as one that has its share does', async () => {
  const clock = manualClock()
  const room = createRoom(SIZE, clock)
  let asked = 0
  const cutOff = () => {
    asked += 1
    return true
  }
  const slow = { caller: 'slow', signal: never, cutOff }
  const giveBack = await room.take(SIZE / 2, slow)
  void room.take(SIZE / 4, slow)
  await clock.advance(10 * KEPT_MS)
  expect(asked).toBe(0)
  const other = room.take(SIZE * 0.75, holder('other'))
  await clock.advance(KEPT_MS)
  expect(asked).toBe(1)
  giveBack()
  await other
})
