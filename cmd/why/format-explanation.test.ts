import { expect, test } from 'vitest'
import { type Explanation, formatExplanation } from './format-explanation.ts'

const NOW = new Date('2026-11-29T12:18:00Z')

const explained = (next: string, reportedAt?: string): string => {
  const status = reportedAt === undefined ? {} : { status: { last_report_time: reportedAt } }
  const explanation: Explanation = {
    id: 'c1',
    kind: 'Cluster',
    name: 'boston',
    generation: 1,
    phase: 'Ready',
    waits_for: [],
    adapters: [{ adapter: 'dns', state: 'Agreeing', why: 'it says Available=True of generation 1', ...status }],
    discarded: [],
    remaining: [],
    pulses: {
      last: { time: '2026-11-29T12:16:43Z', reason: 'New', source: 'hyperfleet-sentinel/one' },
      next: { time: next },
    },
    queue: [],
  }
  return formatExplanation(explanation, NOW).split('\n').at(-2) ?? ''
}

test('GITOPS-57: a pulse that is still to come is told by its time', () => {
  expect(explained('2026-11-29T12:18:10Z')).toBe('  next: 2026-11-29T12:18:10Z, unless something changes')
})

test('GITOPS-57: one that a report has put off is not told as due at a time that is over', () => {
  expect(explained('2026-11-29T12:16:53Z', '2026-11-29T12:16:44Z')).toBe(
    '  next: put off by reports since the last one, until something changes or the backoff of its Sentinel is over',
  )
})

test('GITOPS-57: one that has not come leads to its Sentinel, also where the last report is of before the last pulse', () => {
  const late = '  next: was due 2026-11-29T12:16:53Z (1m7s ago), and has not come: kubectl get sentinelconfigs -A'
  expect(explained('2026-11-29T12:16:53Z')).toBe(late)
  expect(explained('2026-11-29T12:16:53Z', '2026-11-29T12:16:42Z')).toBe(late)
})
