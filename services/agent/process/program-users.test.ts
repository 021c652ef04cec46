import { expect, test } from 'vitest'
import { findMissingCapabilities, hasAccounts, NEEDED_CAPABILITIES } from './find-missing-rights.ts'
import { chooseUid, parseUidRange } from './program-users.ts'

const RANGE = parseUidRange('5000-5010')

// AGENT-43
test('a placement gets the same account whatever others have, one that is free, and never the last', () => {
  const uid = chooseUid(RANGE, 'agent/pump.shop.web', new Set())
  expect(chooseUid(RANGE, 'agent/pump.shop.web', new Set())).toBe(uid)
  const used = new Set<number>()
  for (let count = 0; count < 10; count += 1) used.add(chooseUid(RANGE, `agent/${count}`, used) ?? 0)
  expect([...used].toSorted((a, b) => a - b)).toEqual([5000, 5001, 5002, 5003, 5004, 5005, 5006, 5007, 5008, 5009])
  expect(chooseUid(RANGE, 'agent/one-more', used)).toBeUndefined()
})

test.for(['0-10', '999-2000', '5000', '5000-5000', '6000-5000', '-1-5', '5000-4294967295', '5000-99999999999'])(
  '%s is no range of accounts',
  (text) => {
    expect(() => parseUidRange(text)).toThrow('is no range of accounts: write FIRST-LAST')
  },
)

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
