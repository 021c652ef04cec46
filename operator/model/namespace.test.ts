import { expect, test } from 'vitest'
import { isNamespaceOf } from './namespace.ts'

const made = (creationTimestamp: string) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'n', uid: 'u', resourceVersion: '1', creationTimestamp },
  spec: undefined,
})

// FLEET-77, POOL-66
test.each([
  ['is there since before', made('2026-01-01T00:00:00Z'), true],
  ['was made in the same second', made('2026-01-02T00:00:00Z'), true],
  ['is younger, so it was made in the place of its own', made('2026-01-02T00:00:01Z'), false],
  ['is gone', undefined, false],
])('the namespace that an object was made in: one that %s', (_, namespace, is) => {
  expect(isNamespaceOf(namespace, made('2026-01-02T00:00:00Z'))).toBe(is)
})
