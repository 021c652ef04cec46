import { expect, test } from 'vitest'
import type { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { parseResource } from './decision/resource.ts'
import { formatConfigPreview, previewConfig } from './preview.ts'

const config = (name: string, region: string | undefined, more: object = {}): SentinelConfig =>
  ({
    apiVersion: 'hyperfleet.redhat.com/v1alpha1',
    kind: 'SentinelConfig',
    metadata: { name, namespace: 'default' },
    spec: {
      resourceType: 'clusters',
      hyperfleetAPI: { url: 'http://api:8000' },
      ...(region !== undefined && { shardSelector: { matchLabels: { region } } }),
      ...more,
    },
  }) as unknown as SentinelConfig

const cluster = (id: string, region: string, status: 'True' | 'False') =>
  parseResource({
    id,
    generation: 1,
    labels: { region },
    created_time: '2026-01-01T00:00:00Z',
    status: { conditions: [{ type: 'Ready', status, last_updated_time: '2026-01-01T00:00:00Z' }] },
  })

const resources = [cluster('a', 'eu', 'True'), cluster('b', 'us', 'False'), cluster('c', 'asia', 'True')]

// SENTINEL-39
test('another selector gains and loses, and leaves a gap', () => {
  const changed = [config('one', 'us', { backoffReady: '1h' })]
  const present = [config('one', 'eu'), config('elsewhere', undefined, { resourceType: 'nodepools' })]
  const preview = previewConfig(changed[0] as SentinelConfig, { present, changed }, resources)
  expect(preview).toMatchObject({
    gains: ['b'],
    loses: ['a'],
    gaps: ['a', 'c'],
    overlap: undefined,
    notReady: 1,
    ready: 0,
  })
  expect(formatConfigPreview(preview)).toMatchInlineSnapshot(`
    "one
      selects 1 clusters (region=us): 0 ready, 1 not ready
      pulses a minute without reports: 6, now 0
      gains 1: b
      loses 1: a
      overlaps: none
      gaps: 2: a, c selected by no SentinelConfig
    "
  `)
})

test('a new shard beside one that selects everything overlaps with it, and there is no gap', () => {
  const changed = [config('two', 'us')]
  const preview = previewConfig(
    changed[0] as SentinelConfig,
    { present: [config('all', undefined)], changed },
    resources,
  )
  expect(preview).toMatchObject({
    gains: ['b'],
    loses: [],
    gaps: [],
    overlap: 'all selects the same resources, for example one with region=us',
    pulsesPerMinute: 6,
    pulsesPerMinuteBefore: undefined,
  })
})
