import { expect, test } from 'vitest'
import { consumerGroup } from './consumer-group.ts'

/** As the API says it: services/hyperfleet-api/http/routes/consumer-group.ts. JetStream takes all of it for durable consumers. */
const TAKEN = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

test('ADAPTER-21: a group can be read, and found again after a restart', () => {
  expect(consumerGroup('hyperfleet', 'cl-namespace')).toMatchInlineSnapshot(`"hyperfleet-cl-namespace-e5c997e12ab5"`)
})

type Place = readonly [namespace: string, name: string]

test.each<[string, Place, Place]>([
  ['where the namespace ends', ['a-b', 'c'], ['a', 'b-c']],
  ['a dot', ['a', 'b.c'], ['a', 'b-c']],
  ['an end that is cut off', ['a', `${'x'.repeat(80)}1`], ['a', `${'x'.repeat(80)}2`]],
])('tasks that differ only by %s have groups of their own', (_case, one, other) => {
  expect(consumerGroup(...one)).not.toBe(consumerGroup(...other))
})

test.each([
  ['a', 'b'],
  ['n'.repeat(63), 's'.repeat(253)],
  ['n'.repeat(40), `${'s'.repeat(9)}.t`],
  ['a', 'b.c.d'],
])('the API and JetStream take the group of %s/%s', (namespace, name) => {
  expect(consumerGroup(namespace, name)).toMatch(TAKEN)
})
