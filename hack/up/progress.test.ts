import { expect, test } from 'vitest'
import type { Hyperfleet, Resource } from './hyperfleet.ts'
import { follow, progressLine, progressTable, type Sighting } from './progress.ts'

const said = (type: string, status: 'True' | 'False' | 'Unknown') => ({ type, status })

const resource = (over: Partial<Resource>): Resource => ({
  id: '1',
  kind: 'Cluster',
  name: 'atlanta',
  href: '/api/hyperfleet/v1/clusters/1',
  generation: 1,
  labels: { region: 'us-east', environment: 'prod' },
  status: { phase: 'NotReady', conditions: [] },
  ...over,
})

const READY = resource({
  status: {
    phase: 'Ready',
    conditions: [said('Ready', 'True'), said('ClusterConfigSuccessful', 'True'), said('ClusterSlowSuccessful', 'True')],
  },
})

test('the table has a row for each resource, with what its adapters say', () => {
  const pool = resource({ kind: 'NodePool', name: 'atlanta-gpu', labels: {} })
  const rows = progressTable([
    { resource: READY, isGone: false },
    { resource: pool, isGone: true },
  ])
  expect(`\n${rows.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    RESOURCE              LABELS                           GENERATION  PHASE  ADAPTERS
    cluster/atlanta       region=us-east,environment=prod  1           Ready  ClusterConfig=True ClusterSlow=True
    nodepool/atlanta-gpu  -                                1           gone   -
    "
  `)
})

test('a sighting as a line', () => {
  expect(progressLine({ resource: READY, isGone: false })).toBe(
    'cluster/atlanta is Ready (ClusterConfig=True ClusterSlow=True)',
  )
  expect(progressLine({ resource: READY, isGone: true })).toBe('cluster/atlanta is gone')
})

test('each change is told once, and what the API has forgotten is gone', async () => {
  const answers = [[resource({})], [resource({})], [READY], [READY], []]
  const api = {
    list: async (type) => (type === 'clusters' ? (answers.shift() ?? []) : []),
  } as Partial<Hyperfleet> as Hyperfleet
  const lines: string[] = []
  const isGone = (all: readonly Sighting[]) => all.every((sighting) => sighting.isGone)
  await follow(api, [resource({})], isGone, new AbortController().signal, (_, latest) =>
    lines.push(progressLine(latest)),
  )
  expect(lines).toEqual(['cluster/atlanta is Ready (ClusterConfig=True ClusterSlow=True)', 'cluster/atlanta is gone'])
})
