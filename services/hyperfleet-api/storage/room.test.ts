import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRoom } from './room.ts'

const SIZE = 100
const never = new AbortController().signal

// API-91, API-161
test('is never exceeded but by a single piece, leaves three quarters to others than one caller, and lets everyone in', async () => {
  const asked = fc.array(fc.record({ caller: fc.constantFrom('a', 'b', 'c'), bytes: fc.integer({ min: 1, max: 120 }) }))
  await fc.assert(
    fc.asyncProperty(asked, fc.infiniteStream(fc.nat()), async (pieces, choices) => {
      const room = createRoom(SIZE)
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
        const giveBack = await room.take(bytes, { caller, signal: never })
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
  const room = createRoom(SIZE)
  for (let n = 0; n < 50; n += 1) void room.take(10, { caller: 'greedy', signal: never })
  const giveBack = await room.take(SIZE * 0.75, { caller: 'other', signal: never })
  expect(room.bytesInUse).toBe(95)
  giveBack()
})

test('who leaves while it waits takes no room', async () => {
  const room = createRoom(SIZE)
  const giveBack = await room.take(SIZE, { caller: 'a', signal: never })
  const leaving = new AbortController()
  const left = room.take(10, { caller: 'b', signal: leaving.signal })
  leaving.abort(new Error('left'))
  await expect(left).rejects.toThrow('left')
  giveBack()
  expect(room.bytesInUse).toBe(0)
})
