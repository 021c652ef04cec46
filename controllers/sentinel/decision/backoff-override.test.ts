import { expect, test } from 'vitest'
import { readOverride } from './backoff-override.ts'

const of = (labels: Record<string, string>, annotations: Record<string, string> = {}) =>
  readOverride({ id: 'a', labels, annotations })
const NOT_READY = 'sentinel.hyperfleet.io/backoff-not-ready'
const READY = 'sentinel.hyperfleet.io/backoff-ready'

test('a resource that asks for nothing gets nothing', () => {
  expect(of({ region: 'us-east' })).toEqual({ backoff: undefined, ignored: [] })
})
test('labels set each backoff by itself', () => {
  expect(of({ [NOT_READY]: '45s' }).backoff).toEqual({ notReady: 45_000 })
  expect(of({ [READY]: '2h' }).backoff).toEqual({ ready: 7_200_000 })
})
test('an annotation wins over a label', () => {
  expect(of({ [READY]: '2h' }, { [READY]: '1h' }).backoff).toEqual({ ready: 3_600_000 })
})
// SENTINEL-11
test('1s and 24h are the bounds, inclusive', () => {
  expect(of({ [NOT_READY]: '1s', [READY]: '24h' }).backoff).toEqual({ notReady: 1_000, ready: 86_400_000 })
})
test.for(['999ms', '24h1ms', '0s', 'soon', ''])('%j is ignored, with a sentence that says what to write', (text) => {
  expect(of({ [READY]: text, [NOT_READY]: '5s' })).toEqual({
    backoff: { notReady: 5_000 },
    ignored: [
      `${READY}=${JSON.stringify(text)} of resource a is ignored: write a duration from 1s to 24h, such as 45s or 2h`,
    ],
  })
})
