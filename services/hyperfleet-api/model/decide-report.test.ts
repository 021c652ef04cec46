import { describe, expect, test } from 'vitest'
import { applyReport, checkObservedTime, decideReport } from './decide-report.ts'
import type { Report, ReportedStatus } from './resource.ts'

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`

const report = (values: Record<string, ReportedStatus> = {}, generation = 2, second = 10): Report => ({
  adapter: 'dns',
  observed_generation: generation,
  observed_time: at(second),
  conditions: Object.entries({ Available: 'True', Applied: 'True', Health: 'True', ...values } as const).map(
    ([type, status]) => ({ type, status }),
  ),
  data: {},
})

const resource = { generation: 2 }
const deleting = { generation: 2, deleted_time: at(5) }
const stored = applyReport(report(), undefined)

describe('the first report', () => {
  test.each([
    ['True', report(), { decision: 'store' }],
    ['False', report({ Available: 'False' }), { decision: 'store' }],
    ['Unknown is stored, so that the adapter shows', report({ Available: 'Unknown' }), { decision: 'store' }],
    ['of an older generation', report({}, 1), { decision: 'store' }],
    ['of a future generation', report({}, 3), { decision: 'discard', reason: 'FutureGeneration' }],
  ])('%s', (_case, incoming, verdict) => {
    expect(decideReport(incoming, resource, undefined)).toEqual(verdict)
  })
})

describe('the next report', () => {
  test.each([
    ['newer', report({}, 2, 11), { decision: 'store' }],
    ['of equal time and other content', report({ Health: 'False' }), { decision: 'store' }],
    ['the same to the letter', report(), { decision: 'repeat', stored }],
    ['of an older generation, though later', report({}, 1, 30), { decision: 'discard', reason: 'OlderGeneration' }],
    ['older', report({}, 2, 9), { decision: 'discard', reason: 'OlderReport' }],
    ['Unknown', report({ Available: 'Unknown' }, 2, 11), { decision: 'interim', stored }],
    ['Unknown and older', report({ Available: 'Unknown' }, 2, 9), { decision: 'discard', reason: 'OlderReport' }],
    ['of a newer generation, though observed earlier', report({}, 3, 9), { decision: 'store' }],
  ])('%s', (_case, incoming, verdict) => {
    expect(decideReport(incoming, { generation: 3 }, stored)).toEqual(verdict)
  })

  test('Unknown after a first Unknown stands beside it too, also when it is the same to the letter', () => {
    const unknown = report({ Available: 'Unknown' })
    const first = applyReport(unknown, undefined)
    expect(decideReport(unknown, resource, first)).toEqual({ decision: 'interim', stored: first })
  })

  // API-49
  test('Unknown is stored when the adapter had let the resource go: it is at work again, and a deletion waits for it', () => {
    const released = {
      ...stored,
      conditions: stored.conditions.map((condition) =>
        condition.type === 'Applied' ? { ...condition, status: 'False' as const, reason: 'NotSelected' } : condition,
      ),
      data: { selector: 'region=eu' },
    }
    expect(decideReport(report({ Available: 'Unknown' }, 2, 11), resource, released)).toEqual({ decision: 'store' })
  })

  test('Unknown is stored when it says that the clean-up of a deletion is done', () => {
    const done = report({ Available: 'Unknown', Finalized: 'True' }, 2, 11)
    expect(decideReport(done, deleting, stored)).toEqual({ decision: 'store' })
    expect(decideReport(done, resource, stored)).toEqual({ decision: 'interim', stored })
    const kept = applyReport(done, stored)
    expect(decideReport(done, deleting, kept)).toEqual({ decision: 'repeat', stored: kept })
  })
})

// API-1
test('a missing mandatory condition is refused, but only where the report would count', () => {
  const { conditions, ...rest } = report({}, 2, 11)
  const incomplete = { ...rest, conditions: conditions.filter(({ type }) => type !== 'Health') }
  expect(decideReport(incomplete, resource, stored)).toMatchObject({ decision: 'refuse' })
  expect(decideReport({ ...incomplete, observed_time: at(9) }, resource, stored)).toMatchObject({ decision: 'discard' })
})

test('a stored report keeps since when each status holds, and when the adapter first reported', () => {
  const next = applyReport(report({ Health: 'False' }, 2, 20), stored)
  expect(next).toMatchObject({ created_time: at(10), last_report_time: at(20) })
  expect(next.conditions.map(({ type, last_transition_time }) => [type, last_transition_time])).toEqual([
    ['Available', at(10)],
    ['Applied', at(10)],
    ['Health', at(20)],
  ])
})

// API-6
test('observed_time may be 5 minutes ahead and 30 minutes old, to the millisecond', () => {
  const now = new Date(at(0))
  const shifted = (milliseconds: number) => checkObservedTime(report(), new Date(now.getTime() + 10_000 + milliseconds))
  expect([shifted(-300_000), shifted(1_800_000)]).toEqual([undefined, undefined])
  expect(shifted(-300_001)).toContain('in the future')
  expect(shifted(1_800_001)).toContain('30 minutes old')
})
