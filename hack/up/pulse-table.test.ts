import { expect, test } from 'vitest'
import type { Resource } from './hyperfleet.ts'
import { availableAfter, isDone, type Sighting } from './observer.ts'
import { pulseLine, pulseTable } from './pulse-table.ts'

const resource = (over: Partial<Resource>): Resource => ({
  id: '1',
  kind: 'Cluster',
  name: 'atlanta',
  href: '/api/hyperfleet/v1/clusters/1',
  generation: 1,
  labels: { region: 'us-east', environment: 'prod' },
  status: { phase: 'NotReady' },
  ...over,
})

const PULSED: Sighting = {
  resource: resource({ status: { phase: 'Ready' } }),
  pulses: 2,
  reason: 'NotReadyBackoffExpired',
  source: 'hyperfleet-sentinel/cluster-sentinel-us-east',
}

test('the table has a row for each resource, pulsed or not', () => {
  const unseen = { resource: resource({ kind: 'NodePool', name: 'atlanta-gpu', labels: {} }), pulses: 0 }
  expect(`\n${pulseTable([PULSED, unseen]).join('\n')}\n`).toMatchInlineSnapshot(`
    "
    RESOURCE              LABELS                           PULSES  LAST REASON             BY                        PHASE
    cluster/atlanta       region=us-east,environment=prod  2       NotReadyBackoffExpired  cluster-sentinel-us-east  Ready
    nodepool/atlanta-gpu  -                                0       -                       -                         NotReady
    "
  `)
})

test('a pulse as a line', () => {
  expect(pulseLine(PULSED)).toBe(
    'pulse 2 of cluster/atlanta: NotReadyBackoffExpired (cluster-sentinel-us-east), now Ready',
  )
})

test('a sample is done when it was pulsed again after its backoff and is Ready', () => {
  expect(isDone(PULSED)).toBe(true)
  expect(isDone({ ...PULSED, pulses: 1 })).toBe(false)
  expect(isDone({ ...PULSED, resource: resource({}) })).toBe(false)
})

test('the stand-in adapter is at work after the first pulse and done after the second', () => {
  expect([1, 2, 3].map(availableAfter)).toEqual(['Unknown', 'True', 'True'])
})
