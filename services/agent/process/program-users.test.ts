import { expect, test } from 'vitest'
import { findMissingCapabilities, hasAccounts, NEEDED_CAPABILITIES } from './find-missing-rights.ts'
import { chooseUid } from './program-users.ts'

const RANGE = { first: 5000, last: 5010 }

// AGENT-43
test('a placement gets the same account whatever others have, one that is free, and never the last', () => {
  const uid = chooseUid(RANGE, 'agent/pump.shop.web', new Set())
  expect(chooseUid(RANGE, 'agent/pump.shop.web', new Set())).toBe(uid)
  const used = new Set<number>()
  for (let count = 0; count < 10; count += 1) used.add(chooseUid(RANGE, `agent/${count}`, used) ?? 0)
  expect([...used].toSorted((a, b) => a - b)).toEqual([5000, 5001, 5002, 5003, 5004, 5005, 5006, 5007, 5008, 5009])
  expect(chooseUid(RANGE, 'agent/one-more', used)).toBeUndefined()
})

// AGENT-44
test('what an agent lacks is told by the name of the right', () => {
  expect(findMissingCapabilities('CapPrm:\t0\nCapEff:\t000001ffffffffff\n')).toEqual([])
  expect(findMissingCapabilities('CapEff:\t00000000000000c0\n')).toEqual([
    'CAP_CHOWN',
    'CAP_DAC_OVERRIDE',
    'CAP_KILL',
    'CAP_SETPCAP',
  ])
  expect(findMissingCapabilities('CapEff:\t0000000000000000\n')).toEqual(NEEDED_CAPABILITIES)
})

test('a container has the accounts that its map has', () => {
  expect(hasAccounts('         0          0 4294967295\n', RANGE)).toBe(true)
  expect(hasAccounts('         0     100000      65536\n', RANGE)).toBe(true)
  expect(hasAccounts('         0       1000          1\n         1     100000       5000\n', RANGE)).toBe(false)
})
