import { expect, test } from 'vitest'
import { type AttemptInput, countAttempts, failureGraceMs } from './install-attempts.ts'
import { type ClusterRecord, type RecordCondition, recordOf } from './record/record.ts'

const NOW = new Date('2026-01-01T12:00:00Z')
const MINUTE = 60_000

const record = (installAttempt: number, ...conditions: readonly RecordCondition[]): ClusterRecord => {
  const read = recordOf({ id: '1', href: '/1', name: 'one', generation: 1, spec: { installAttempt } })
  if (read === undefined) throw new Error('no record')
  return { ...read, conditions }
}
const dns = (status: 'True' | 'False', observedGeneration = 1): RecordCondition => ({
  type: 'DnsSuccessful',
  status,
  reason: 'Said',
  message: 'no such zone',
  observedGeneration,
})
const quota = (observedGeneration = 1): RecordCondition => ({
  ...dns('False', observedGeneration),
  type: 'CloudSuccessful',
  reason: 'QuotaExceeded',
  message: '2 of 2 clusters',
})
const tried = (over: Partial<AttemptInput> & Pick<AttemptInput, 'record'>): AttemptInput => ({
  installed: false,
  failed: 0,
  limit: undefined,
  failingSince: undefined,
  ...over,
})

test('a failure counts when it lasts, not at once', () => {
  const failing = record(1, dns('False'))
  expect(countAttempts(tried({ record: failing }), NOW)).toEqual({
    failed: 0,
    desired: 1,
    isStopped: false,
    failing: 'Dns: no such zone',
    quota: undefined,
    failsAt: NOW.getTime() + MINUTE,
  })
  expect(countAttempts(tried({ record: failing, failingSince: NOW.getTime() - MINUTE }), NOW)).toMatchObject({
    failed: 1,
    desired: 2,
    failsAt: undefined,
  })
})

test('the same failure is counted once, by any observer and however often', () => {
  const failing = record(1, dns('False'))
  const counted = countAttempts(tried({ record: failing, failed: 1, failingSince: 0 }), NOW)
  expect(counted).toMatchObject({ failed: 1, desired: 2, failing: undefined })
})

test('what was said of an earlier generation, and what an installed cluster says, is no failure', () => {
  expect(countAttempts(tried({ record: record(1, dns('False', 0)), failingSince: 0 }), NOW).failing).toBeUndefined()
  const installed = tried({ record: record(1, dns('False')), installed: true, limit: 1, failingSince: 0 })
  expect(countAttempts(installed, NOW)).toMatchObject({ failed: 0, isStopped: false, failing: undefined })
})

test('the last attempt that may be made stops it, in the adapters’ words; a higher limit goes on', () => {
  const last = tried({ record: record(2, dns('False')), failed: 1, limit: 2, failingSince: 0 })
  const stopped = { failed: 2, desired: 2, isStopped: true, failing: 'Dns: no such zone' }
  expect(countAttempts(last, NOW)).toMatchObject(stopped)
  expect(countAttempts({ ...last, failed: 2 }, NOW)).toMatchObject(stopped)
  expect(countAttempts({ ...last, failed: 2, limit: 3 }, NOW)).toMatchObject({ desired: 3, isStopped: false })
})

test('a stale reader never takes an attempt back', () => {
  expect(countAttempts(tried({ record: record(3), failed: 0 }), NOW).desired).toBe(3)
})

test('CLUSTER-23: a quota that is used up is no failure however long it lasts, unless something else is wrong too', () => {
  const waiting = tried({ record: record(1, quota()), limit: 1, failingSince: 0 })
  expect(countAttempts(waiting, NOW)).toEqual({
    failed: 0,
    desired: 1,
    isStopped: false,
    failing: undefined,
    quota: 'Cloud: 2 of 2 clusters',
    failsAt: undefined,
  })
  const unschedulable = { ...quota(), reason: 'Unschedulable', message: 'no node has room' }
  expect(countAttempts(tried({ record: record(1, unschedulable), failingSince: 0 }), NOW)).toMatchObject({
    failed: 0,
    quota: 'Cloud: no node has room',
  })
  const both = tried({ record: record(1, quota(), dns('False')), failingSince: 0 })
  expect(countAttempts(both, NOW)).toMatchObject({ failed: 1, failing: 'Dns: no such zone', quota: undefined })
  expect(countAttempts(tried({ record: record(1, quota(0)) }), NOW).quota).toBeUndefined()
})

test('pauses double up to an hour', () => {
  expect([1, 2, 3, 7, 50].map((attempt) => failureGraceMs(attempt) / MINUTE)).toEqual([1, 2, 4, 60, 60])
})
