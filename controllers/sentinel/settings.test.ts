import { describe, expect, test } from 'vitest'
import type { SentinelConfigSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { fixedPartition, formatShard, owns, parseSettings, sameResources } from './settings.ts'

const spec = (change: object = {}): SentinelConfigSpec =>
  ({ resourceType: 'clusters', hyperfleetAPI: { url: 'http://api:8080' }, ...change }) as SentinelConfigSpec

// SENTINEL-27
test('a minimal spec gets the defaults', () => {
  expect(parseSettings(spec())).toEqual({
    resourceType: 'clusters',
    backoff: { notReady: 10_000, ready: 1_800_000 },
    selector: [],
    autoShard: { kind: 'none' },
    url: 'http://api:8080/',
    timeout: 10_000,
    pollInterval: 5_000,
  })
})

test('SENTINEL-44: a spec without a URL gets the one of the manager, and its own wins', () => {
  const { hyperfleetAPI: _, ...without } = spec()
  expect(parseSettings(without, 'http://default:8000').url).toBe('http://default:8000/')
  expect(parseSettings({ ...without, hyperfleetAPI: { timeout: '3s' } }, 'http://default:8000').url).toBe(
    'http://default:8000/',
  )
  expect(parseSettings(spec(), 'http://default:8000').url).toBe('http://api:8080/')
  expect(() => parseSettings(without)).toThrow(
    'spec.hyperfleetAPI.url: is absent: write it, or start the manager with --hyperfleet-api-url',
  )
})

describe('a spec that can’t be run is refused with its field and the remedy', () => {
  test.for([
    [
      { backoffReady: 'soon' },
      'spec.backoffReady: "soon" is not a duration: write a number and a unit, such as 500ms, 10s, 30m or 1h30m',
    ],
    [{ pollInterval: '0s' }, 'spec.pollInterval: "0s" is too short: write 100ms or more'],
    [
      { resourceType: '../secrets' },
      'spec.resourceType: "../secrets" is no resource type: write a plural such as clusters',
    ],
    [
      { hyperfleetAPI: { url: 'ftp://x' } },
      'spec.hyperfleetAPI.url: "ftp://x" is no base URL: write http(s)://host:port without a query',
    ],
    [
      { autoShard: { shards: 3, index: 3 } },
      'spec.autoShard: write either shards and index (from 0 to shards-1), or replicas alone',
    ],
    [
      { shardSelector: { matchExpressions: [{ key: 'region', operator: 'Near', values: ['x'] }] } },
      'spec.shardSelector: matchExpressions[0] has the operator "Near": write In, NotIn, Exists or DoesNotExist',
    ],
  ] as const)('%j', ([change, message]) => {
    expect(() => parseSettings(spec(change))).toThrow(message)
  })
})

describe('the shard as text', () => {
  test.for([
    [{}, 'all'],
    [{ shardSelector: { matchLabels: { region: 'us-east' } } }, 'region=us-east'],
    [{ autoShard: { shards: 3, index: 1 } }, 'all [1/3]'],
    [{ autoShard: { replicas: 2 } }, 'all [?/2]'],
  ] as const)('%j is %s', ([change, text]) => {
    expect(formatShard(parseSettings(spec(change)))).toBe(text)
  })
})

// SENTINEL-23
test('a resource belongs to the shard by its labels, where a missing one satisfies NotIn', () => {
  const config = parseSettings(
    spec({ shardSelector: { matchExpressions: [{ key: 'region', operator: 'NotIn', values: ['us-east'] }] } }),
  )
  expect(owns(config, undefined, { id: 'a', labels: {} })).toBe(true)
  expect(owns(config, undefined, { id: 'a', labels: { region: 'us-east' } })).toBe(false)
})

test('of the shards of one division exactly one owns a resource', () => {
  const shards = [0, 1, 2].map((index) => parseSettings(spec({ autoShard: { shards: 3, index } })))
  for (let number = 0; number < 100; number++) {
    const resource = { id: `cls-${number}`, labels: {} }
    expect(shards.filter((config) => owns(config, fixedPartition(config), resource))).toHaveLength(1)
  }
})

test('other backoffs leave the resources the same, another selector does not', () => {
  const config = parseSettings(spec())
  expect(sameResources(config, parseSettings(spec({ backoffReady: '1h', pollInterval: '1s' })))).toBe(true)
  expect(sameResources(config, parseSettings(spec({ shardSelector: { matchLabels: { a: 'b' } } })))).toBe(false)
})
