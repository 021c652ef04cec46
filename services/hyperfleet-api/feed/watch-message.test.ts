import { expect, test } from 'vitest'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import type { Change } from './changes.ts'
import { formatMessage, messageType } from './watch-message.ts'

const change = (type: Change['type'], before: Record<string, string>, after: Record<string, string>): Change => ({
  version: 7,
  type,
  kind: 'Cluster',
  ownerId: undefined,
  labelsBefore: before,
  labels: after,
  document: '{}',
})

const eu = {
  kind: 'Cluster',
  ownerId: undefined,
  selector: parseSelector('region=eu'),
  fields: undefined,
  projection: undefined,
  position: String,
}

test.each([
  ['is made in the selection', change('added', {}, { region: 'eu' }), 'added'],
  ['is made outside', change('added', {}, { region: 'us' }), undefined],
  ['changes inside', change('modified', { region: 'eu' }, { region: 'eu' }), 'modified'],
  ['enters', change('modified', { region: 'us' }, { region: 'eu' }), 'added'],
  ['leaves', change('modified', { region: 'eu' }, { region: 'us' }), 'deleted'],
  ['changes outside', change('modified', { region: 'us' }, {}), undefined],
  ['goes from inside', change('deleted', { region: 'eu' }, { region: 'eu' }), 'deleted'],
  ['goes from outside', change('deleted', { region: 'us' }, { region: 'us' }), undefined],
])('a resource that %s', (_case, seen, expected) => {
  expect(messageType(seen, eu)).toBe(expected)
})

test('a change of another kind or below another parent is no message', () => {
  const seen = { ...change('added', {}, { region: 'eu' }), ownerId: '1' }
  expect(messageType(seen, { ...eu, kind: 'NodePool' })).toBeUndefined()
  expect(messageType(seen, { ...eu, ownerId: '2' })).toBeUndefined()
  expect(messageType(seen, { ...eu, ownerId: '1' })).toBe('added')
})

test('a resource made with a selector that wants a label to be missing', () => {
  expect(messageType(change('added', {}, {}), { ...eu, selector: parseSelector('!region') })).toBe('added')
})

test('a message without a version leaves the reader’s position alone', () => {
  expect(formatMessage('added', '7', '{}')).toBe('event: added\nid: 7\ndata: {}\n\n')
  expect(formatMessage('added', undefined, '{}')).toBe('event: added\ndata: {}\n\n')
})
