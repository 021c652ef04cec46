import { expect, test } from 'vitest'
import { type Look, notYet } from './as-declared.ts'
import type { KubeSight } from './observer/sights.ts'

const north = { name: 'north', size: 2, customizations: ['a'], claims: ['mine'], rollouts: { web: 'first' } }
const declared = new Map([['north', north]])

const object = (kind: string, name: string, more: object = {}, observedGeneration = 1): KubeSight => ({
  kind,
  metadata: { name, namespace: 'n', uid: name, resourceVersion: '1', generation: 1 },
  spec: { text: 'first' },
  status: { observedGeneration, conditions: [{ type: 'Ready', status: 'True' }], ...more },
})

const good: Readonly<Record<Parameters<Look>[0], readonly KubeSight[]>> = {
  ClusterPool: [object('ClusterPool', 'north', { ready: 2 })],
  ClusterClaim: [object('ClusterClaim', 'mine')],
  Deployment: [object('Deployment', 'web')],
}
const lookAt =
  (objects: Partial<typeof good>): Look =>
  (kind) =>
    ({ ...good, ...objects })[kind]

test('a world as declared lacks nothing', () => {
  expect(notYet(declared, lookAt({}))).toEqual([])
})

test('what is missing, too much, not ready, not seen or of an older text is told', () => {
  const conditions = [{ type: 'Ready', status: 'False', reason: 'Waiting', message: 'for a cluster' }]
  const now = lookAt({
    ClusterPool: [object('ClusterPool', 'north', { ready: 1 }, 0)],
    ClusterClaim: [object('ClusterClaim', 'mine', { conditions }), object('ClusterClaim', 'old')],
    Deployment: [],
  })
  expect(notYet(declared, now)).toEqual([
    'ClusterPool north is not Ready: generation 1 has not been seen',
    'ClusterClaim mine is not Ready: Waiting: for a cluster',
    'ClusterClaim n/old is still there',
    'Deployment web is not there',
    'ClusterPool north has 1 of 2 clusters ready',
    'Deployment web does not say first yet',
  ])
})
