import { expect, test } from 'vitest'
import { awaitedAdapters, hasCleanedUp } from './deletion-gate.ts'
import type { AdapterStatus, ReportedCondition, ReportedStatus } from './resource.ts'

const deleting = { generation: 3, deleted_time: '2026-01-01T00:00:10.000000Z' }

const conditions = (values: Record<string, ReportedStatus>): ReportedCondition[] =>
  Object.entries(values).map(([type, status]) => ({ type, status }))

const report = (values: Record<string, ReportedStatus>, generation = 3, second = 10) => ({
  observed_generation: generation,
  observed_time: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`,
  conditions: conditions(values),
})

test.each([
  ['Applied=False and Health=True', report({ Applied: 'False', Health: 'True' }), true],
  ['Applied=False, but Health=False', report({ Applied: 'False', Health: 'False' }), false],
  ['Applied=False, Health unknown', report({ Applied: 'False', Health: 'Unknown' }), false],
  ['Applied=True', report({ Applied: 'True', Health: 'True' }), false],
  ['what was observed before the deletion', report({ Applied: 'False', Health: 'True' }, 3, 9), false],
  ['an older generation', report({ Applied: 'False', Health: 'True' }, 2), false],
  ['Finalized=True', report({ Finalized: 'True', Applied: 'True', Available: 'Unknown' }), true],
  ['Finalized=True of an older generation', report({ Finalized: 'True' }, 2), false],
  ['Finalized=False', report({ Finalized: 'False' }), false],
])('%s', (_case, cleanup, opens) => {
  expect(hasCleanedUp(deleting, cleanup)).toBe(opens)
})

// API-25
test('nothing has cleaned up after a resource that is not being deleted', () => {
  expect(hasCleanedUp({ generation: 3 }, report({ Finalized: 'True' }))).toBe(false)
})

// API-26
test('awaited are the required adapters and those that ever reported, without those that are done', () => {
  const row = (adapter: string, values: Record<string, ReportedStatus>): AdapterStatus => ({
    adapter,
    observed_generation: 3,
    conditions: conditions(values).map((condition) => ({ ...condition, last_transition_time: deleting.deleted_time })),
    data: {},
    created_time: deleting.deleted_time,
    last_report_time: deleting.deleted_time,
  })
  const rows = [row('retired', { Applied: 'True' }), row('dns', { Finalized: 'True' })]
  expect(awaitedAdapters(deleting, rows, ['dns', 'validation'])).toEqual(['retired', 'validation'])
  expect(awaitedAdapters(deleting, rows, 'reporting')).toEqual(['retired'])
  expect(awaitedAdapters(deleting, [], 'reporting')).toEqual([])
})
