import { describe, expect, test } from 'vitest'
import type { SentinelConfigSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { parseSettings } from '../settings.ts'
import { countsUnowned, describeOverlap, describeUnowned, isOwned, type Shard, selectsEverything } from './ownership.ts'

const claimant = (name: string, change: object = {}): Shard => ({
  name,
  config: parseSettings({
    resourceType: 'clusters',
    hyperfleetAPI: { url: 'http://api' },
    ...change,
  } as SentinelConfigSpec),
})
const selecting = (name: string, matchLabels: Record<string, string>) =>
  claimant(name, { shardSelector: { matchLabels } })

const east = selecting('east', { region: 'us-east' })
const west = selecting('west', { region: 'us-west' })
const prod = selecting('prod', { environment: 'prod' })
const rest = claimant('rest', {
  shardSelector: { matchExpressions: [{ key: 'region', operator: 'NotIn', values: ['us-east', 'us-west'] }] },
})

// SENTINEL-35
describe('overlap', () => {
  test('regions are disjoint', () => {
    expect(describeOverlap(east, [west, rest])).toBeUndefined()
  })
  test('selectors of different labels overlap, with labels that both select', () => {
    expect(describeOverlap(east, [west, prod])).toBe(
      'prod selects the same resources, for example one with region=us-east,environment=prod',
    )
  })
  test('an empty selector overlaps everything', () => {
    expect(describeOverlap(rest, [claimant('all')])).toBe(
      'all selects the same resources, for example one without labels',
    )
  })
  test('another type or another API can’t overlap', () => {
    expect(describeOverlap(claimant('a'), [claimant('b', { resourceType: 'nodepools' })])).toBeUndefined()
    expect(describeOverlap(claimant('a'), [claimant('b', { hyperfleetAPI: { url: 'http://other' } })])).toBeUndefined()
  })
  test('shards of one division are disjoint, of different divisions they may overlap', () => {
    const first = claimant('0', { autoShard: { shards: 2, index: 0 } })
    expect(describeOverlap(first, [claimant('1', { autoShard: { shards: 2, index: 1 } })])).toBeUndefined()
    expect(describeOverlap(first, [claimant('1', { autoShard: { shards: 3, index: 1 } })])).toBeDefined()
  })
})

// SENTINEL-36
describe('gap', () => {
  test('a resource without any of the labels has no owner until a default shard is there', () => {
    const unlabelled = { id: 'a', labels: {} }
    expect(isOwned([east, west], unlabelled)).toBe(false)
    expect(isOwned([east, west, rest], unlabelled)).toBe(true)
  })
  test('a missing shard of a division leaves its part without owner', () => {
    const half = [claimant('0', { autoShard: { shards: 2, index: 0 } })]
    const owned = Array.from({ length: 100 }, (_, number) => isOwned(half, { id: `cls-${number}`, labels: {} }))
    expect(new Set(owned)).toEqual(new Set([true, false]))
  })
  test('someone who selects everything makes counting needless', () => {
    expect(selectsEverything([east, claimant('all')])).toBe(true)
    expect(selectsEverything([east, rest])).toBe(false)
  })
  test('one of the SentinelConfigs of a type counts, the first by name', () => {
    expect([east, west, rest].filter((one) => countsUnowned(one, [east, west, rest])).map(({ name }) => name)).toEqual([
      'east',
    ])
  })
  test('the sentence names an example and the remedy', () => {
    expect(describeUnowned(3, 'cls-7', 'clusters')).toBe(
      '3 of the clusters are selected by no SentinelConfig and never pulsed, for example cls-7: ' +
        'add a shard for them, or let the shardSelector of one that is there take them in',
    )
    expect(describeUnowned(0, undefined, 'clusters')).toBeUndefined()
  })
})
