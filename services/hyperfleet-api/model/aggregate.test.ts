import { describe, expect, test } from 'vitest'
import { at, cluster, previous, readyCluster, report, row } from '#test/worlds/hyperfleet-api/adapter-reports.ts'
import { aggregateConditions, buildStatus } from './aggregate.ts'

/** What the single rules add up to; each rule has its table beside it, in conditions/. */

const resource = { generation: 1, updated_time: at(0) }
const types = (conditions: readonly { type: string }[]) => conditions.map(({ type }) => type)

test('a new resource has its four conditions at once, all False', () => {
  const one = cluster()
  expect(one.conditions().map(({ type, status }) => [type, status])).toEqual([
    ['Available', 'False'],
    ['Ready', 'False'],
    ['LastKnownReconciled', 'False'],
    ['Reconciled', 'False'],
  ])
})

test('each required adapter that has reported adds one', () => {
  expect(types(readyCluster().conditions()).slice(4)).toEqual(['DnsSuccessful', 'ValidationSuccessful'])
})

// API-10
test('Reconciled and LastKnownReconciled say the same as Ready and Available', () => {
  const one = readyCluster()
    .updates()
    .reports(report('dns', 'False', 2, 3))
  for (const [ours, peers] of [
    ['Ready', 'Reconciled'],
    ['Available', 'LastKnownReconciled'],
  ] as const)
    expect({ ...one.condition(ours), type: '' }).toEqual({ ...one.condition(peers), type: '' })
})

describe('a kind that requires no adapter', () => {
  // API-19
  test('has no conditions and is Ready, also after reports', () => {
    const one = cluster([])
    expect([one.conditions(), one.phase()]).toEqual([[], 'Ready'])
    one.reports(report('dns', 'False', 1))
    expect([one.conditions(), one.phase()]).toEqual([[], 'Ready'])
  })
  test('loses those it had when it required some', () => {
    const before = [previous('Ready', 'False@1'), previous('DnsSuccessful', 'False@1')]
    expect(aggregateConditions({ resource, rows: [], required: [], previous: before, hasChildren: false })).toEqual([])
  })
})

describe('what was there before', () => {
  const input = { resource, rows: [row('dns', 'True', 1, 5)], required: ['dns'], hasChildren: false }
  const since = (before: Parameters<typeof aggregateConditions>[0]['previous']) =>
    aggregateConditions({ ...input, previous: before }).find(({ type }) => type === 'Ready')?.last_transition_time

  test.each([
    ['nothing: it begins now', [], at(5)],
    ['the same status: since then', [previous('Ready', 'True@1')], at(1)],
    ['another status: it changes now', [previous('Ready', 'False@1')], at(5)],
    ['other conditions only: it begins now', [previous('Available', 'True@1')], at(5)],
  ])('%s', (_case, before, time) => {
    expect(since(before)).toBe(time)
  })

  test('conditions that nothing speaks of any more are gone', () => {
    const conditions = aggregateConditions({ ...input, previous: [previous('OldSuccessful', 'True@1')] })
    expect(types(conditions)).not.toContain('OldSuccessful')
  })
})

// API-22
test('the same situation gives the same conditions, whatever the order of its rows', () => {
  const rows = [row('dns', 'True', 1, 5), row('validation', 'False', 1, 6), row('extra', 'True', 1, 7)]
  const input = { resource, required: ['validation', 'dns'], previous: [], hasChildren: false }
  expect(aggregateConditions({ ...input, rows: rows.toReversed() })).toEqual(aggregateConditions({ ...input, rows }))
})

describe('with required_adapters: reporting', () => {
  // API-18
  test('those that have reported must agree, and there must be one', () => {
    const one = cluster('reporting')
    expect([one.phase(), one.condition('Ready')?.message]).toEqual(['NotReady', 'No adapter has reported yet'])
    expect(one.reports(report('dns', 'True', 1)).phase()).toBe('Ready')
    expect(one.reports(report('other', 'False', 1, 1)).phase()).toBe('NotReady')
    expect(one.retires('other').phase()).toBe('Ready')
  })
  test('an adapter that has only said Unknown changes nothing, before or after the others', () => {
    const first = cluster('reporting').reports(report('late', 'Unknown', 1), report('dns', 'True', 1))
    const last = cluster('reporting').reports(report('dns', 'True', 1), report('late', 'Unknown', 1))
    expect([first.phase(), first.conditions()]).toEqual(['Ready', last.conditions()])
  })
})

// API-160
describe('with required_adapters: undecided', () => {
  test('none is Ready or Available, whatever reports, and both say what to write; what reports is shown', () => {
    const one = cluster('undecided').reports(report('dns', 'True', 1))
    const [ready, available] = [one.condition('Ready'), one.condition('Available')]
    expect([one.phase(), ready?.status, available?.status]).toEqual(['NotReady', 'False', 'False'])
    expect(ready?.message).toContain('name there the adapters')
    expect(available?.message).toBe(ready?.message)
    expect(one.condition('DnsSuccessful')?.status).toBe('True')
  })
  test('a deletion waits for what has reported', () => {
    const one = cluster('undecided')
      .reports(report('dns', 'True', 1))
      .deletes(5)
    expect(one.condition('Ready')).toMatchObject({ status: 'False', reason: 'Deleting' })
  })
})

describe('the phase', () => {
  test.each([
    ['Ready', readyCluster()],
    ['NotReady', cluster()],
    ['NotReady', readyCluster().updates()],
    ['Deleting', readyCluster().deletes(5)],
    ['Deleting', cluster([]).deletes(5)],
  ])('is %s', (phase, one) => {
    expect(one.phase()).toBe(phase)
  })
  // API-20
  test('comes with the time of the newest accepted report, when there is one', () => {
    expect([buildStatus({}, [], at(5)), buildStatus({}, [], undefined)]).toEqual([
      { phase: 'Ready', lastTransitionTime: at(5), conditions: [] },
      { phase: 'Ready', conditions: [] },
    ])
  })
})
