import { describe, expect, it } from 'vitest'
import { ABSENT, type Filters, matches, PRESENT } from './filters.ts'
import type { KubeObject } from './resource.ts'

const object: KubeObject<{ size: number }> = {
  apiVersion: 'test/v1',
  kind: 'Widget',
  metadata: { name: 'one', uid: 'u', resourceVersion: '1', labels: { tier: 'gold' }, annotations: { note: '' } },
  spec: { size: 3 },
}

describe('filters', () => {
  it.each<[string, Filters<typeof object>, boolean]>([
    ['none', {}, true],
    ['the value', { labels: { tier: 'gold' } }, true],
    ['another value', { labels: { tier: 'iron' } }, false],
    ['a value that is not there', { labels: { zone: 'a' } }, false],
    ['present', { labels: { tier: PRESENT } }, true],
    ['present with an empty value', { annotations: { note: PRESENT } }, true],
    ['present and is not', { labels: { zone: PRESENT } }, false],
    ['absent', { labels: { zone: ABSENT } }, true],
    ['absent and is not', { labels: { tier: ABSENT } }, false],
    ['a question about the value', { labels: { tier: (value) => value?.startsWith('g') === true } }, true],
    ['a question about a missing value', { labels: { zone: (value) => value === undefined } }, true],
    ['a question about the object', { when: ({ spec }) => spec.size > 2 }, true],
    ['all of them', { labels: { tier: 'gold' }, annotations: { note: ABSENT } }, false],
  ])('by %s', (_, filters, expected) => {
    expect(matches(filters, object)).toBe(expected)
  })
})
