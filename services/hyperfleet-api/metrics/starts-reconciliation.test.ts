import { expect, test } from 'vitest'
import type { Resource } from '../model/resource.ts'
import { startsReconciliation } from './starts-reconciliation.ts'

const time = '2026-01-01T00:00:00.000000Z'

const resource = (ready?: 'True' | 'False', deleted_time?: string): Resource => ({
  id: 'one',
  kind: 'Cluster',
  name: 'one',
  href: '',
  spec: {},
  generation: 1,
  created_time: time,
  updated_time: time,
  created_by: 'me',
  updated_by: 'me',
  tenancy: {},
  ...(deleted_time !== undefined && { deleted_time }),
  status: {
    phase: 'NotReady',
    conditions:
      ready === undefined
        ? []
        : [
            {
              type: 'Ready',
              status: ready,
              observed_generation: 1,
              created_time: time,
              last_updated_time: time,
              last_transition_time: time,
            },
          ],
  },
})

test.each([
  ['made, and not ready', { type: 'added', resource: resource('False') }, true],
  ['made of a kind that no adapter reconciles', { type: 'added', resource: resource() }, false],
  ['no longer ready', { type: 'modified', before: resource('True'), resource: resource('False') }, true],
  ['still not ready', { type: 'modified', before: resource('False'), resource: resource('False') }, false],
  ['ready again', { type: 'modified', before: resource('False'), resource: resource('True') }, false],
  ['marked for deletion', { type: 'modified', before: resource('False'), resource: resource('False', time) }, true],
  ['still going', { type: 'modified', before: resource('False', time), resource: resource('False', time) }, false],
  ['gone', { type: 'deleted', resource: resource('False', time) }, false],
] as const)('%s', (_case, step, starts) => {
  expect(startsReconciliation(step)).toBe(starts)
})
