import { expect, test } from 'vitest'
import { withDefaults } from './settings.ts'

const election = { lease: 'elected', namespace: 'n' }

test('RUNTIME-49: a stop that may outlast a lease that is given up is refused before anything starts', () => {
  expect(() => withDefaults({ execution: { stopTimeout: '5s' } })).toThrow(
    /stopTimeout: 5s must be shorter than 5000 ms/,
  )
  expect(withDefaults({ execution: { stopTimeout: '4999ms' } }).execution.stopTimeout).toBe('4999ms')
  expect(() => withDefaults({ election: { ...election, duration: '4s', renew: '3.2s' } })).toThrow(
    /shorter than 800 ms/,
  )
  // Another process may take a daemon's lease as soon as ever, however late the operator's.
  expect(() =>
    withDefaults({ execution: { stopTimeout: '6s' }, election: { ...election, duration: '60s', renew: '30s' } }),
  ).toThrow(/shorter than 5000 ms/)
  expect(() => withDefaults({ election: { ...election, renew: '15s' } })).toThrow(/leaseDuration > renewDeadline/)
})
