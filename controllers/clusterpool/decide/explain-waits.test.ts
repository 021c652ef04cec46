import { describe, expect, test } from 'vitest'
import type { Cluster } from '../model/cluster.ts'
import { explainWaits } from './explain-waits.ts'
import type { Sizing, SizingInput } from './sizing.ts'

const cluster = (name: string) => ({ name }) as Cluster

const NONE = { deleting: [], marked: [], claimed: [], broken: [], assignable: [], standby: [], installing: [] }

const input = (some: Partial<SizingInput> = {}): SizingInput => ({
  spec: { size: 3, maxSize: 5, maxConcurrent: 2, staleReplacement: { maxConcurrent: 1 } } as SizingInput['spec'],
  buckets: NONE,
  unseen: 0,
  waiting: 0,
  free: 0,
  returning: 0,
  removed: [],
  drained: [],
  losers: [],
  isHeld: () => false,
  countFailing: () => 0,
  stale: [],
  uncounted: new Set(),
  isUnproven: false,
  isReplaceable: () => true,
  ...some,
})

const sizing = (some: Partial<Sizing> = {}): Sizing => ({
  add: 0,
  delete: [],
  missing: 0,
  capacity: 10,
  concurrent: 10,
  ...some,
})

const waits = (
  some: Partial<SizingInput>,
  size: Partial<Sizing>,
  dependencies: readonly string[] = [],
  blockedReason?: string,
): readonly string[] =>
  explainWaits(input(some), sizing(size), dependencies, blockedReason).map((wait) =>
    wait.action === 'Wait' ? `${wait.about}: ${wait.why}` : wait.action,
  )

test('where as much is made as is missing, nothing waits', () => {
  expect(waits({}, { missing: 2, add: 2 })).toEqual([])
  expect(waits({}, { missing: -1 })).toEqual([])
})

describe('of clusters that can’t be made yet, the first reason that holds is told', () => {
  const short = 'size: missing clusters that can’t be made yet: 2;'
  test('what blocks all of them', () => {
    const reasons = [`${short} the template is wrong`]
    expect(waits({}, { missing: 2, concurrent: 0, capacity: 0 }, ['a Secret'], 'the template is wrong')).toEqual(
      reasons,
    )
  })
  test('what they need', () => {
    const reasons = [`${short} something is missing: a Secret; a role`]
    expect(waits({}, { missing: 2, concurrent: 0, capacity: 0 }, ['a Secret', 'a role'])).toEqual(reasons)
  })
  test('how many may be under way, when as many are made as may be', () => {
    expect(waits({}, { missing: 3, add: 1, concurrent: 1, capacity: 1 })).toEqual([`${short} maxConcurrent is 2`])
  })
  test('how many there may be, when as many are made as may be', () => {
    expect(waits({}, { missing: 3, add: 1, concurrent: 2, capacity: 1 })).toEqual([
      `${short} maxSize is 5, claimed clusters included`,
    ])
  })
  test('what to make them of', () => {
    expect(waits({}, { missing: 3, add: 1, concurrent: 2, capacity: 2 })).toEqual([
      `${short} no other customization is free`,
    ])
  })
})

test('a failure is written down before its cluster goes', () => {
  expect(waits({ uncounted: new Set([cluster('a')]) }, {})).toEqual([
    'a: its failure is written down first, then it is deleted',
  ])
})

describe('broken clusters that stay', () => {
  const [going, written, staying] = [cluster('going'), cluster('written'), cluster('staying')] as const
  const buckets = { ...NONE, broken: [going, written, staying] }
  const size = { delete: [{ cluster: going, reason: 'Broken' as const }] }
  const uncounted = new Set([written])

  test('are those that neither go nor wait for their failure to be written down', () => {
    expect(waits({ buckets, uncounted }, size)).toContain(
      'broken: broken clusters that stay for now: 1; maxConcurrent allows no more',
    )
  })
  test('stay behind clusters that are made', () => {
    expect(waits({ buckets, uncounted }, { ...size, add: 1, missing: 1 })).toContain(
      'broken: broken clusters that stay for now: 1; clusters are made first',
    )
  })
  test('are not told when there are none', () => {
    expect(waits({ buckets: { ...NONE, broken: [going] } }, size)).toEqual([])
  })
})

describe('outdated clusters that stay', () => {
  const [going, one, other] = [cluster('going'), cluster('one'), cluster('other')] as const
  const stale = [going, one, other].map((outdated) => ({ cluster: outdated, staleness: 'Stale' as never }))
  const size = { delete: [{ cluster: going, reason: 'Surplus' as const }] }

  test('are replaced later', () => {
    expect(waits({ stale }, size)).toEqual(['stale: outdated clusters that are replaced later: 2; 1 at a time'])
  })
  test('are replaced later when one of them can be', () => {
    expect(waits({ stale, isReplaceable: ({ name }) => name === 'one' }, size)).toEqual([
      'stale: outdated clusters that are replaced later: 2; 1 at a time',
    ])
  })
  test('can’t be replaced', () => {
    expect(waits({ stale, isReplaceable: () => false }, size)).toEqual([
      'stale: outdated clusters that stay: 2; no other could be made in their place',
    ])
  })
  test('are not replaced by what was never installed', () => {
    expect(waits({ stale, isUnproven: true, isReplaceable: () => false }, size)[0]).toContain(
      'none of the new version was installed',
    )
  })
  test('are not told when all go', () => {
    expect(waits({ stale: stale.slice(0, 1) }, size)).toEqual([])
  })
})
