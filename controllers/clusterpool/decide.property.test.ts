/** What holds for every pool, whatever is found: plans are carried out on a world in memory (test/worlds/clusterpool/simulated.ts). */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aClaim, aCluster, aCustomization, aPool, BAD_PATCH, minutes } from '#test/worlds/clusterpool/builders.ts'
import { type Steps, World, type WorldOptions } from '#test/worlds/clusterpool/simulated.ts'
import { decide } from './decide.ts'
import { explain } from './explain.ts'
import { toObserved } from './model/observed.ts'

const NAMES = ['a', 'b', 'c', 'd'] as const
const limit = fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined })

const spec = fc.record({
  size: fc.integer({ min: 0, max: 4 }),
  runningCount: fc.integer({ min: 0, max: 2 }),
  inventory: fc.option(fc.subarray([...NAMES, 'bad', 'missing'], { minLength: 1 }), { nil: undefined }),
  maxSize: limit,
  maxConcurrent: limit,
  stale: fc.integer({ min: 1, max: 3 }),
})

const found = fc.record({
  state: fc.constantFrom('installing', 'standby', 'running', 'broken'),
  at: fc.integer({ min: 0, max: 2 }),
  isOutdated: fc.boolean(),
  isGoing: fc.boolean(),
  isClaimed: fc.boolean(),
})

/** A world as it may be found: clusters in any state, leases that say so or say nothing. */
const beginnings: fc.Arbitrary<WorldOptions> = fc
  .record({
    spec,
    clusters: fc.array(found, { maxLength: 4 }),
    claims: fc.integer({ min: 0, max: 3 }),
    cursed: fc.subarray([...NAMES]),
    healthyLeases: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
  })
  .map(({ spec: { inventory, maxSize, maxConcurrent, stale, ...rest }, clusters, claims, cursed, healthyLeases }) => {
    const limits = { ...(maxSize !== undefined && { maxSize }), ...(maxConcurrent !== undefined && { maxConcurrent }) }
    const pool = aPool({ ...rest, ...limits, inventory, staleReplacement: { maxConcurrent: stale } })
    const made = clusters.map(({ isOutdated, isGoing, isClaimed, ...says }, index) =>
      aCluster(`found-${index}`, {
        ...says,
        pool,
        deleting: isGoing,
        ...(inventory !== undefined && { customization: NAMES[index] ?? 'a' }),
        ...(isOutdated && { version: 'older' }),
        ...(isClaimed && { claim: `has-${index}` }),
      }),
    )
    return {
      pools: [pool],
      clusters: made,
      claims: [
        ...Array.from({ length: claims }, (_, index) => aClaim(`waits-${index}`, { at: index })),
        ...clusters.flatMap(({ isClaimed }, index) =>
          isClaimed ? [aClaim(`has-${index}`, { namespace: `found-${index}` })] : [],
        ),
      ],
      customizations: [
        ...NAMES.map((name, index) =>
          aCustomization(
            name,
            inventory !== undefined && index < made.length && healthyLeases[index] ? { cluster: `found-${index}` } : {},
          ),
        ),
        aCustomization('bad', { patches: [BAD_PATCH] }),
      ],
      cursed,
    }
  })

/** Many worlds take a while on a busy machine, in milliseconds. */
const PATIENCE = { timeout: 120_000 }

describe('one manager', () => {
  test('passes reach a fixed point, and no limit is ever broken on the way', PATIENCE, () => {
    fc.assert(
      fc.property(beginnings, (beginning) => {
        const world = new World(beginning)
        const most = Math.max(beginning.pools[0]?.spec.maxSize ?? Number.POSITIVE_INFINITY, world.clusters.size)
        const changes = world.runUntilStable(['pool'], () => {
          expect(world.doubleLeases()).toEqual([])
          expect(world.clusters.size).toBeLessThanOrEqual(most)
        })
        expect(changes).toEqual([])
      }),
      { numRuns: 150 },
    )
  })

  test(
    'what can be had is had: claims are served and the pool is filled as far as limits and customizations go',
    PATIENCE,
    () => {
      fc.assert(
        fc.property(beginnings, (beginning) => {
          const world = new World(beginning)
          world.runUntilStable(['pool'])
          const [pool] = beginning.pools
          const waiting = [...world.claims.values()].filter(({ spec }) => spec.namespace === undefined).length
          const claimed = [...world.clusters.values()].filter(
            (cluster) => cluster.spec.clusterPoolRef?.claimName,
          ).length
          const unclaimed = world.clusters.size - claimed
          const usable = new Set([...NAMES].filter((name) => !beginning.failing?.includes(name)))
          const listed = pool?.spec.inventory?.ClusterDeploymentCustomizations.map(({ name }) => name)
          const free =
            listed?.filter((name) => usable.has(name as 'a')).filter((name) => !uses(world, name)).length ?? 9
          const room = (pool?.spec.maxSize ?? 99) - world.clusters.size
          if (free > 0 && room > 0) expect({ waiting, unclaimed }).toEqual({ waiting: 0, unclaimed: pool?.spec.size })
        }),
        { numRuns: 150 },
      )
    },
  )

  test('a deleted pool is left with claimed clusters only, and goes without them', PATIENCE, () => {
    fc.assert(
      fc.property(beginnings, (beginning) => {
        const pools = beginning.pools.map((pool) => ({
          ...pool,
          metadata: { ...pool.metadata, deletionTimestamp: '2026-03-01T08:00:00Z' },
        }))
        const world = new World({ ...beginning, pools })
        world.runUntilStable(['pool'])
        expect([...world.clusters.values()].every((cluster) => cluster.spec.clusterPoolRef?.claimName)).toBe(true)
        expect(world.pools.size).toBe(world.clusters.size > 0 ? 1 : 0)
      }),
      { numRuns: 100 },
    )
  })

  test('POOL-45: the order in which objects were read is no matter', PATIENCE, () => {
    const shuffled = beginnings.chain((beginning) =>
      fc.tuple(
        fc.constant(beginning),
        shuffle(beginning.clusters ?? []),
        shuffle(beginning.claims ?? []),
        shuffle(beginning.customizations ?? []),
      ),
    )
    fc.assert(
      fc.property(shuffled, ([{ pools, clusters = [], claims = [], customizations = [] }, ...others]) => {
        const planned = (read: readonly [typeof clusters, typeof claims, typeof customizations]) => {
          let count = 0
          const suffix = () => {
            count += 1
            return String(count)
          }
          const [pool = aPool()] = pools
          const observed = toObserved({ pool, clusters: read[0], claims: read[1], customizations: read[2] })
          return explain(decide(observed, { now: minutes(60), suffix }))
        }
        expect(planned(others)).toEqual(planned([clusters, claims, customizations]))
      }),
    )
  })
})

/** What happens next: a manager begins a pass, does its next write or dies, or time passes. */
const events = fc.array(
  fc.record({
    manager: fc.nat({ max: 2 }),
    what: fc.constantFrom('step', 'step', 'step', 'step', 'begin', 'die', 'advance'),
  }),
  { maxLength: 150 },
)

describe('several managers, cut off anywhere', () => {
  // Two work on one pool, the third on another one that lists the same customizations.
  const POOLS = ['pool', 'pool', 'other'] as const
  const two = (size: number): WorldOptions => ({
    pools: ['pool', 'other'].map((name) => aPool({ name, size, inventory: NAMES })),
    customizations: NAMES.map((name) => aCustomization(name)),
    claims: [aClaim('one'), aClaim('two')],
  })

  test('POOL-1: no customization is ever in two clusters, and none is lost', PATIENCE, () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), events, (size, happened) => {
        const world = new World(two(size))
        const running: (Steps | undefined)[] = []
        for (const { manager, what } of happened) {
          if (what === 'advance') world.advance()
          else if (what === 'die') running[manager] = undefined
          else if (what === 'begin' || running[manager] === undefined)
            running[manager] = world.begin(POOLS[manager] ?? 'pool')
          else if (running[manager].next().done) running[manager] = undefined
          expect(world.doubleLeases()).toEqual([])
        }
        expect(world.runUntilStable(['pool', 'other'])).toEqual([])
        for (const [name, { status }] of world.customizations)
          expect([name, status?.clusterDeploymentRef !== undefined]).toEqual([name, uses(world, name)])
        const wanted = Math.min(NAMES.length, 2 * size + 2)
        expect(world.clusters.size).toBe(wanted)
      }),
      { numRuns: 200 },
    )
  })
})

test('POOL-58: a lease that is taken over while its cluster is made and registered changes hands only on paper', () => {
  const pools = ['first', 'second'].map((name) => aPool({ name, size: 1, inventory: ['a'] }))
  const world = new World({ pools, customizations: [aCustomization('a')] })
  const holder = () => world.customizations.get('a')?.status?.clusterPoolRef?.name
  const first = world.begin('first')
  while (holder() !== 'first') first.next()
  // It is about to make its cluster, and sleeps.
  first.next()
  first.next()
  world.advance(6)
  const second = world.begin('second')
  for (const _ of first);
  expect(world.clusters.size).toBe(1)
  world.advance(1)
  // It dies right after it wrote the lease, or found that it can't.
  while (holder() !== 'second' && !second.next().done);
  world.runUntilStable(['second', 'first'], () => expect(world.doubleLeases()).toEqual([]))
  expect([...world.clusters.values()].map(({ spec }) => spec.clusterPoolRef?.poolName)).toEqual(['first'])
})

describe('POOL-57: a lease has the time that its maker needs', () => {
  test('also when it takes the place of one whose cluster was never made', () => {
    const pools = ['first', 'second', 'third'].map((name) => aPool({ name, size: 1, inventory: ['a'] }))
    const world = new World({ pools, customizations: [aCustomization('a')] })
    const holder = () => world.customizations.get('a')?.status?.clusterPoolRef?.name
    const take = (pool: string) => {
      const pass = world.begin(pool)
      while (holder() !== pool) if (pass.next().done) throw new Error(`pool ${pool} did not take it`)
      return pass
    }
    take('first')
    world.advance(6)
    const second = take('second')
    world.advance(1)
    for (const _ of world.begin('third'));
    expect(holder()).toBe('second')
    for (const _ of second);
    expect([...world.clusters.values()].map(({ spec }) => spec.clusterPoolRef?.poolName)).toEqual(['second'])
  })

  test('no lease is taken away that is younger than the grace and whose cluster was not made yet', PATIENCE, () => {
    const names = ['a']
    const pools = ['first', 'second', 'third']
    const happened = fc.array(
      fc.record({
        manager: fc.nat({ max: pools.length - 1 }),
        what: fc.constantFrom('begin', 'go on', 'advance'),
        by: fc.integer({ min: 1, max: 7 }),
      }),
      { maxLength: 60, size: 'max' },
    )
    fc.assert(
      fc.property(happened, (events) => {
        const world = new World({
          pools: pools.map((name) => aPool({ name, size: 1, inventory: names })),
          customizations: names.map((name) => aCustomization(name)),
        })
        const running: (Steps | undefined)[] = []
        for (const { manager, what, by } of events) {
          if (what === 'advance') world.advance(by)
          else {
            if (what === 'begin') running[manager] = world.begin(pools[manager] ?? 'first')
            for (let writes = 0; writes < by; writes += 1) running[manager]?.next()
          }
          expect(world.earlyLosses()).toEqual([])
          expect(world.doubleLeases()).toEqual([])
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

const uses = (world: World, name: string): boolean =>
  [...world.clusters.values()].some(({ spec }) => spec.clusterPoolRef?.clusterDeploymentCustomization?.name === name)

const shuffle = <T>(list: readonly T[]): fc.Arbitrary<T[]> =>
  fc.shuffledSubarray([...list], { minLength: list.length, maxLength: list.length })
