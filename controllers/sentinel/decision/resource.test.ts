import { expect, test } from 'vitest'
import { MalformedResource, parseResource } from './resource.ts'

test('a resource that has neither generation nor times of its own', () => {
  const status = { phase: 'Provisioning', lastTransitionTime: '2025-10-21T12:00:00Z' }
  expect(parseResource({ id: 'cls-123', status })).toEqual({
    id: 'cls-123',
    generation: 0,
    createdAt: 0,
    changedAt: 0,
    deletedAt: undefined,
    labels: {},
    annotations: {},
    conditions: [],
    phase: 'Provisioning',
    lastTransitionAt: Date.parse('2025-10-21T12:00:00Z'),
  })
})

test('deleted_at and deleted_time are the same', () => {
  const deleted = '2026-01-01T00:00:00Z'
  expect(parseResource({ id: 'a', deleted_at: deleted }).deletedAt).toBe(Date.parse(deleted))
  expect(parseResource({ id: 'a', deleted_time: deleted }).deletedAt).toBe(Date.parse(deleted))
})

test.for([
  [null, 'item (without id): the item must be an object, but is null'],
  [{}, 'item (without id): id must be a non-empty text, but is absent'],
  [{ id: 'a', generation: '2' }, 'item a: generation must be a whole number, but is "2"'],
  [{ id: 'a', created_time: 'yesterday' }, 'item a: created_time must be an RFC 3339 time, but is "yesterday"'],
  [{ id: 'a', labels: { region: 1 } }, 'item a: labels["region"] must be a text, but is 1'],
  [{ id: 'a', status: { conditions: {} } }, 'item a: status.conditions must be a list, but is {}'],
  [
    { id: 'a', status: { conditions: [{ type: 'Ready', last_updated_time: 5 }] } },
    'item a: status.conditions[0].last_updated_time must be a text, but is 5',
  ],
] as const)('a malformed item is refused: %j', ([item, message]) => {
  expect(() => parseResource(item)).toThrow(message)
})

test('and the refusal can be told from a bug', () => {
  expect(() => parseResource(1)).toThrow(MalformedResource)
})
