import { expect, test } from 'vitest'
import { parseEventText } from './reconcile-event.ts'

const GOOD = { specversion: '1.0', id: 'c1.1', type: 'com.redhat.hyperfleet.cluster.reconcile', data: { id: 'c1' } }

test('a CloudEvent about a resource is an event', () => {
  expect(parseEventText(JSON.stringify(GOOD))).toEqual({
    id: 'c1.1',
    type: GOOD.type,
    traceparent: undefined,
    data: { id: 'c1' },
  })
})

test.for([
  ['hello', 'it is no JSON'],
  ['[]', 'it is no object'],
  [JSON.stringify({ ...GOOD, specversion: '0.3' }), 'specversion is not "1.0"'],
  [JSON.stringify({ ...GOOD, id: '' }), 'it has no id'],
  [JSON.stringify({ ...GOOD, type: 7 }), 'it has no type'],
  [JSON.stringify({ ...GOOD, data: null }), 'it has no data'],
  [JSON.stringify({ ...GOOD, data: {} }), 'data has no id of a resource'],
])('%s is none: %s', ([text = '', problem = '']) => {
  expect(() => parseEventText(text)).toThrow(problem)
})
