import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chooseOffenders } from './aggregate.ts'

const offender = fc.record({
  device: fc.stringMatching(/^[a-z]{1,8}$/),
  state: fc.constantFrom('failed', 'offline', 'unreported', 'held', 'pending'),
  message: fc.constant(''),
} as const)

// FLEET-28
test('of any offenders ten are named, and of each state the first by name', () => {
  fc.assert(
    fc.property(fc.uniqueArray(offender, { selector: ({ device }) => device, maxLength: 60 }), (all) => {
      const named = chooseOffenders(all)
      expect(named).toHaveLength(Math.min(10, all.length))
      expect(all).toEqual(expect.arrayContaining(named))
      for (const { state, device } of all) {
        const ofState = named.filter((one) => one.state === state).map((one) => one.device)
        expect(ofState).not.toEqual([])
        expect(ofState.includes(device) || ofState.every((other) => other < device)).toBe(true)
      }
    }),
  )
})
