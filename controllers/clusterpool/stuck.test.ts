/** Pools that can't go on: each says why, holds no lease for ever, and goes on when the cause is gone. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { aCluster, aCustomization, aPool, minutes, versionOf } from '#test/worlds/clusterpool/builders.ts'
import { changesIn, conditionIn, entriesIn, planPass, statusIn, targetsOf } from '#test/worlds/clusterpool/scenario.ts'
import { World } from '#test/worlds/clusterpool/simulated.ts'
import { LEASE_GRACE_MS } from './lease/lease.ts'
import type { CreationFailure } from './model/rejection.ts'
import { nextCreationFailure, restEnd } from './observe/creation-failures.ts'

const withCondition = (cluster: ClusterDeployment, type: string, status: 'True' | 'False', at: number) => {
  const condition = {
    type,
    status,
    reason: 'Any',
    message: 'dns: no such zone',
    lastTransitionTime: minutes(at).toISOString(),
  }
  return { ...cluster, status: { ...cluster.status, conditions: [...(cluster.status?.conditions ?? []), condition] } }
}

describe('POOL-48: a cluster that is never installed', () => {
  const pool = aPool({ inventory: ['a', 'b'], provisionDeadline: '1h' })
  /** Made at the beginning. @param watched For so many minutes the controller of ClusterDeployments has watched it. */
  const installing = (watched?: number) => {
    const options = {
      pool,
      customization: 'a',
      state: 'installing',
      ...(watched !== undefined && { watched }),
    } as const
    return withCondition(aCluster('one', options), 'Ready', 'False', 0)
  }
  const found = (cluster: ClusterDeployment, at: number) =>
    planPass({
      pool,
      clusters: [cluster],
      customizations: [aCustomization('a', { cluster: 'one' }), aCustomization('b')],
      at,
    })

  test('has failed at the deadline: the failure is counted, then the cluster goes', () => {
    const plan = found(installing(61), 61)
    expect(statusIn(plan).inventory?.a?.failure).toMatchObject({ count: 1 })
    expect(statusIn(plan).inventory?.a?.message).toMatch(
      /cluster one failed: was not installed within 1h \(provisionDeadline\); at last: dns: no such zone; 1 of 3/,
    )
    const counted = { ...pool, status: { ...pool.status, inventory: statusIn(plan).inventory ?? {} } }
    const next = planPass({
      pool: counted,
      clusters: [installing(61)],
      customizations: [aCustomization('a', { cluster: 'one' }), aCustomization('b')],
      at: 61,
    })
    expect(targetsOf(next, 'DeleteCluster')).toEqual(['one'])
  })

  test('has time until then', () => {
    expect(targetsOf(found(installing(60), 60), 'DeleteCluster')).toEqual([])
    expect(statusIn(found(installing(60), 60)).inventory?.a?.failure).toBeUndefined()
  })

  test.each([
    ['was watched for no longer than it may take, however old it is', installing(60)],
    ['was never looked at', installing()],
  ])('stays when it %s: its controller was away', (_, cluster) => {
    const plan = found(cluster, 6_000)
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
    expect(statusIn(plan).inventory?.a?.failure).toBeUndefined()
  })

  test('has six hours when the pool does not say, so that none that can’t be installed stays for ever', () => {
    const silent = aPool({ size: 1 })
    const goes = (watched: number) => {
      const cluster = aCluster('one', { pool: silent, state: 'installing', watched, wants: 'Hibernating' })
      return targetsOf(planPass({ pool: silent, clusters: [cluster], at: 6_000 }), 'DeleteCluster')
    }
    expect(goes(360)).toEqual([])
    expect(goes(361)).toEqual(['one'])
  })

  test('waits for ever with 0s', () => {
    const patient = aPool({ provisionDeadline: '0s' })
    const cluster = aCluster('one', { pool: patient, state: 'installing', watched: 1_000_000 })
    expect(changesIn(planPass({ pool: patient, clusters: [cluster], at: 1_000_000 }))).toEqual([
      'SetPower one Hibernating',
    ])
  })
})

describe('POOL-30: outdated clusters that are not installed', () => {
  test('are replaced before those that are, all at once, and hold no place of theirs', () => {
    const pool = aPool({ size: 3, maxConcurrent: 1 })
    const clusters = [
      aCluster('stuck-1', { pool, state: 'installing', version: 'older', at: 2, wants: 'Hibernating' }),
      aCluster('stuck-2', { pool, state: 'installing', version: 'older', at: 3, wants: 'Hibernating' }),
      aCluster('good', { pool, state: 'standby', version: 'older', at: 1 }),
    ]
    expect(targetsOf(planPass({ pool, clusters }), 'DeleteCluster')).toEqual(['stuck-1', 'stuck-2'])
  })

  test('stay when no other could be made in their place', () => {
    const pool = aPool({ size: 1 })
    const clusters = [aCluster('stuck', { pool, state: 'installing', version: 'older', wants: 'Hibernating' })]
    expect(changesIn(planPass({ pool, clusters, missing: ['pull secret: gone'] }))).toEqual([])
  })
})

describe('POOL-49: the loser of a contest', () => {
  const pool = aPool({ size: 2, inventory: ['a', 'b', 'c'] })
  const loser = (state: 'installing' | 'standby') =>
    aCluster('loser', { pool, customization: 'a', state, wants: 'Hibernating', at: 1 })

  test('of a cluster of another pool goes at once when it is not installed', () => {
    const customizations = [
      aCustomization('a', { cluster: 'theirs', pool: 'other' }),
      aCustomization('b'),
      aCustomization('c'),
    ]
    const plan = planPass({ pool, clusters: [loser('installing')], customizations })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['loser'])
    expect(targetsOf(plan, 'ReleaseLease')).toEqual([])
  })

  test('of a cluster of its own pool goes, the winner stays, and the pool comes to its size', () => {
    const clusters = [
      aCluster('winner', { pool, customization: 'a', wants: 'Hibernating', state: 'standby' }),
      loser('installing'),
    ]
    const world = new World({
      pools: [pool],
      clusters,
      customizations: [aCustomization('a', { cluster: 'winner' }), aCustomization('b'), aCustomization('c')],
    })
    expect(world.runUntilStable(['pool'])).toEqual([])
    expect([...world.clusters.keys()].includes('loser')).toBe(false)
    expect(world.clusters.has('winner')).toBe(true)
    expect(world.clusters.size).toBe(2)
  })

  test('is the one that goes when there is one too many, and no other with it', () => {
    const clusters = [
      aCluster('winner', { pool, customization: 'a', wants: 'Hibernating', state: 'standby' }),
      loser('installing'),
      aCluster('newer', { pool, customization: 'b', state: 'installing', wants: 'Hibernating', at: 2 }),
    ]
    const customizations = [
      aCustomization('a', { cluster: 'winner' }),
      aCustomization('b', { cluster: 'newer' }),
      aCustomization('c'),
    ]
    expect(targetsOf(planPass({ pool, clusters, customizations }), 'DeleteCluster')).toEqual(['loser'])
  })

  test('that is installed is replaced like any outdated one', () => {
    const customizations = [
      aCustomization('a', { cluster: 'theirs', pool: 'other' }),
      aCustomization('b'),
      aCustomization('c'),
    ]
    const clusters = [loser('standby'), aCluster('other', { pool, customization: 'b', state: 'standby', at: 0 })]
    const plan = planPass({
      pool,
      clusters,
      customizations: [...customizations.slice(0, 1), aCustomization('b', { cluster: 'other' }), aCustomization('c')],
    })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['loser'])
  })
})

describe('POOL-47: a cluster whose namespace or Secret is denied', () => {
  const message = 'namespaces is forbidden'
  const failure = (name: string, cluster: string, at: number) =>
    new Map([
      [
        name,
        {
          cluster: `${cluster}/${cluster}`,
          version: versionOf(name),
          message,
          firstAt: minutes(at).getTime(),
          count: 1,
        },
      ],
    ])
  const absent = [{ name: 'pool-x', namespace: 'pool-x' }]

  test('is tried again, and its entry says what keeps it and when the lease is given back', () => {
    const pool = aPool({ inventory: ['a'] })
    const plan = planPass({
      pool,
      customizations: [aCustomization('a', { cluster: 'pool-x', since: 58 })],
      absent,
      creationFailures: failure('a', 'pool-x', 58),
    })
    expect(targetsOf(plan, 'CreateCluster')).toEqual(['pool-x with a'])
    expect(statusIn(plan).inventory?.a).toMatchObject({
      status: 'Reserved',
      message:
        "cluster pool-x can't be made: namespaces is forbidden; tried again, and the lease is given back after 2026-03-01T09:03:00.000Z",
    })
    expect(conditionIn(plan, 'Reconciling')).toContain('CreationFailing')
  })

  test('rests for no lease that could not be taken: another webhook was in the way, and no cluster was tried', () => {
    const tried = { cluster: 'pool-x/pool-x', version: versionOf('a'), message }
    const before = nextCreationFailure(undefined, { ...tried, isLeased: false }, minutes(58))
    const again = nextCreationFailure(before, { ...tried, cluster: 'pool-y/pool-y', isLeased: false }, minutes(59))
    const plan = planPass({
      pool: aPool({ inventory: ['a'] }),
      customizations: [aCustomization('a')],
      creationFailures: new Map([['a', again]]),
    })
    expect(changesIn(plan)).toEqual([expect.stringMatching(/^CreateCluster .* with a$/)])
    expect(conditionIn(plan, 'Reconciling')).toContain('CreationFailing')
    const leased = nextCreationFailure(again, { ...tried, cluster: 'pool-y/pool-y', isLeased: true }, minutes(60))
    expect(leased).toMatchObject({ firstAt: minutes(60).getTime(), count: 1 })
  })

  test('rests its customization for twice as long each time, up to an hour', () => {
    const now = minutes(60)
    const tried = { version: versionOf('a'), message, isLeased: true }
    let failure: CreationFailure | undefined
    const rests = [1, 2, 3, 4, 5, 6].map((n) => {
      failure = nextCreationFailure(failure, { ...tried, cluster: `pool-${n}/pool-${n}` }, now)
      return (restEnd(failure) - now.getTime() - LEASE_GRACE_MS) / 60_000
    })
    expect(rests).toEqual([5, 10, 20, 40, 60, 60])
  })

  test('gives its lease back after the grace, and the customization rests', () => {
    const pool = aPool({ inventory: ['a'] })
    const given = {
      pool,
      customizations: [aCustomization('a', { cluster: 'pool-x', since: 50 })],
      absent,
      creationFailures: failure('a', 'pool-x', 50),
    }
    const plan = planPass(given)
    expect(changesIn(plan)).toEqual(['ReleaseLease a'])
    const after = planPass({ ...given, customizations: [aCustomization('a')], at: 59 })
    expect(changesIn(after)).toEqual([])
    expect(statusIn(after).inventory?.a?.message).toBe(
      'cluster pool-x could not be made: namespaces is forbidden; leased again after 2026-03-01T09:00:00.000Z',
    )
    expect(after.recheckAt).toEqual(minutes(60))
    expect(changesIn(planPass({ ...given, customizations: [aCustomization('a')], at: 60 }))).toEqual([
      'CreateCluster pool-1 with a',
    ])
  })

  test('is tried with an edited customization at once', () => {
    const plan = planPass({
      pool: aPool({ inventory: ['a'] }),
      customizations: [aCustomization('a', { generation: 2 })],
      creationFailures: failure('a', 'pool-x', 59),
    })
    expect(entriesIn(plan)).toEqual({ a: 'Available' })
    expect(targetsOf(plan, 'CreateCluster')).toEqual(['pool-1 with a'])
  })

  test('keeps nothing untidy meanwhile: broken, removed and surplus clusters go', () => {
    const pool = aPool({ inventory: ['a', 'b'], size: 2 })
    const clusters = [
      aCluster('bad', { pool, customization: 'b', state: 'broken', version: 'older', wants: 'Hibernating' }),
      aCluster('removed', { pool, customization: 'c', state: 'standby' }),
    ]
    const plan = planPass({
      pool: { ...pool, spec: { ...pool.spec, size: 3 } },
      clusters,
      customizations: [
        aCustomization('a', { cluster: 'pool-x', since: 58 }),
        aCustomization('b', { cluster: 'bad' }),
        aCustomization('c', { cluster: 'removed' }),
      ],
      absent,
      creationFailures: failure('a', 'pool-x', 58),
    })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['bad', 'removed'])
  })

  test('holds no lease for longer than the grace, whatever is denied, and all is filled once it is not', {
    timeout: 120_000,
  }, () => {
    const names = ['a', 'b', 'c', 'd']
    fc.assert(
      fc.property(
        fc.subarray(names, { minLength: 1 }),
        fc.integer({ min: 1, max: 3 }),
        // Forty minutes: five graces.
        fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
        (denied, size, restarts) => {
          const world = new World({
            pools: ['pool', 'other'].map((name) => aPool({ name, size, inventory: names })),
            customizations: names.map((name) => aCustomization(name)),
            denied,
          })
          const unmade = new Map<string, number>()
          let isNew = false
          for (const restart of restarts) {
            for (const pool of ['pool', 'other']) world.pass(pool)
            for (const [name, { status }] of world.customizations) {
              const cluster = status?.clusterDeploymentRef?.name
              if (cluster === undefined || world.clusters.has(cluster)) continue
              const since = unmade.get(cluster) ?? world.now.getTime()
              unmade.set(cluster, since)
              // The grace, and the pass that finds it over.
              if (world.now.getTime() - since > 8 * 60_000) throw new Error(`${name} is held too long for ${cluster}`)
              const { inventory } = world.pools.get(status?.clusterPoolRef?.name ?? '')?.status ?? {}
              const why = inventory?.[name]?.message ?? ''
              if (since < world.now.getTime() && !isNew && !why.includes('is forbidden'))
                throw new Error(`${name} does not say why: ${why}`)
            }
            // A manager that has just started does not know yet what the one before it was told.
            isNew = restart
            if (restart) world.forget('pool')
            world.advance(2)
          }
          world.denied.clear()
          expect(world.runUntilStable(['pool', 'other'])).toEqual([])
          expect(world.clusters.size).toBe(Math.min(4, 2 * size))
        },
      ),
      { numRuns: 20 },
    )
  })
})

test('POOL-38: a lease that was taken as its pool was deleted holds the pool no longer than until a GET does not find its cluster', () => {
  const given = {
    pool: aPool({ inventory: ['a'], deleted: true }),
    customizations: [aCustomization('a', { cluster: 'pool-x', since: 60 })],
    at: 60,
  }
  expect(changesIn(planPass({ ...given, absent: [{ name: 'pool-x', namespace: 'pool-x' }] }))).toContain(
    'ReleaseLease a',
  )
  // It may have been made, and not been seen yet.
  expect(changesIn(planPass(given))).not.toContain('ReleaseLease a')
})
