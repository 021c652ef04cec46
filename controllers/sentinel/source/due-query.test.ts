import { expect, test } from 'vitest'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import { formatDueSearches } from './due-query.ts'
import { buildSelection } from './selection.ts'

const at = (text: string) => Date.parse(text)

// SENTINEL-21
test('a poll asks three questions, each from its own index', () => {
  expect(
    formatDueSearches({
      condition: 'Reconciled',
      notReadyBefore: at('2026-01-01T00:59:50Z'),
      readyBefore: at('2026-01-01T00:30:00Z'),
      changedSince: at('2026-01-01T00:59:25Z'),
    }),
  ).toEqual([
    "updated_time >= '2026-01-01T00:59:25.000Z'",
    "status.conditions.Reconciled='False' and status.conditions.Reconciled.last_updated_time <= '2026-01-01T00:59:50.000Z'",
    "status.conditions.Reconciled='True' and status.conditions.Reconciled.last_updated_time <= '2026-01-01T00:30:00.000Z'",
  ])
})

test.for([
  ['', undefined, []],
  ['region=us-east', 'region=us-east', ["labels.region='us-east'"]],
  ['region in (us-east,us-west)', 'region in (us-east,us-west)', ["labels.region in ['us-east','us-west']"]],
  // What the search dialect can't say exactly is left to the check on our side.
  ['region!=us-east,tier', 'region!=us-east,tier', []],
  ['cluster-type=hypershift', 'cluster-type=hypershift', []],
  ['example.com/team=a', 'example.com/team=a', []],
] as const)(
  'the selector %j narrows the search only as far as it can be said exactly',
  ([selector, labels, search]) => {
    expect(buildSelection(parseSelector(selector))).toEqual({ labels, search })
  },
)
