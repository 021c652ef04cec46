/** Customizations out of service, and their history: POOL-55, POOL-56. */
import { describe, expect, test } from 'vitest'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { aCluster, aCustomization, aPool, minutes } from '#test/worlds/clusterpool/builders.ts'
import { changesIn, conditionIn, entriesIn, planPass, statusIn, targetsOf } from '#test/worlds/clusterpool/scenario.ts'
import { formatAppliedPatches } from './lease/applied-patches.ts'
import { leaseEndOf, withHolder } from './lease/history.ts'
import { toObserved } from './model/observed.ts'

/** As a person edits it: the generation is another one, and the patches are what they were. */
const cordoned = (object: ClusterDeploymentCustomization, drain = false): ClusterDeploymentCustomization => ({
  ...object,
  metadata: { ...object.metadata, generation: 2 },
  spec: { ...object.spec, cordoned: { reason: 'the switch is replaced', drain } },
  status: { ...object.status, lastAppliedConfiguration: formatAppliedPatches({ name: '', ...object.spec }) ?? '' },
})

describe('POOL-55: a cordoned customization', () => {
  const pool = aPool({ inventory: ['a', 'b'], size: 1 })

  test('that is free is leased by no cluster; the entry and the summary say why', () => {
    const plan = planPass({ pool, customizations: [cordoned(aCustomization('a')), aCustomization('b')] })
    expect(targetsOf(plan, 'CreateCluster')).toEqual(['pool-1 with b'])
    expect(statusIn(plan).inventory?.a).toMatchObject({
      status: 'Unavailable',
      cordoned: true,
      message: 'cordoned: the switch is replaced; no cluster leases it',
    })
    expect(conditionIn(plan, 'InventoryValid')).toBe('True/Valid: 1 of 2 usable; cordoned: a')
  })

  test.each([
    ['an unclaimed cluster', undefined, 'cordoned: the switch is replaced; no other cluster leases it after this one'],
    ['a claimed cluster', 'mine', 'cordoned: the switch is replaced; its cluster is claimed and stays'],
  ])('that %s leases stays with it, and the cluster is not outdated', (_, claim, message) => {
    const cluster = aCluster('one', {
      pool,
      customization: 'a',
      wants: 'Hibernating',
      state: 'standby',
      ...(claim && { claim }),
    })
    const customizations = [cordoned(aCustomization('a', { cluster: 'one' })), aCustomization('b')]
    const plan = planPass({ pool, clusters: [cluster], customizations })
    expect(statusIn(plan).inventory?.a).toMatchObject({ status: 'Reserved', message })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
  })

  test('that is drained gives up its unclaimed cluster, and keeps a claimed one', () => {
    const state = { pool, customization: 'a', wants: 'Hibernating', state: 'standby' } as const
    const customizations = [cordoned(aCustomization('a', { cluster: 'one' }), true), aCustomization('b')]
    const drained = planPass({ pool, clusters: [aCluster('one', state)], customizations })
    expect(targetsOf(drained, 'DeleteCluster')).toEqual(['one'])
    const kept = planPass({ pool, clusters: [aCluster('one', { ...state, claim: 'mine' })], customizations })
    expect(targetsOf(kept, 'DeleteCluster')).toEqual([])
  })

  test('that is drained, and no longer in the inventory, has its cluster deleted once', () => {
    const cluster = aCluster('one', { pool, customization: 'c', wants: 'Hibernating', state: 'standby' })
    const other = aCluster('two', { pool, customization: 'a', wants: 'Hibernating', state: 'standby' })
    const customizations = [
      cordoned(aCustomization('c', { cluster: 'one' }), true),
      aCustomization('a', { cluster: 'two' }),
    ]
    expect(targetsOf(planPass({ pool, clusters: [cluster, other], customizations }), 'DeleteCluster')).toEqual(['one'])
  })

  test('is used again when the cordon is taken off', () => {
    const plan = planPass({ pool, customizations: [aCustomization('a', { generation: 3 }), aCustomization('b')] })
    expect(entriesIn(plan)).toEqual({ a: 'Available', b: 'Available' })
    expect(changesIn(plan)).toEqual(['CreateCluster pool-1 with a'])
  })
})

describe('POOL-56: the history of a customization', () => {
  const pool = aPool({ inventory: ['a'] })
  const end = (cluster: Parameters<typeof aCluster>[1]) => {
    const observed = toObserved({
      pool,
      clusters: [aCluster('one', { pool, ...cluster })],
      claims: [],
      customizations: [],
    })
    const [found] = observed.clusters
    return found && leaseEndOf(found, observed, minutes(60))
  }

  test.each([
    ['Claimed', { claim: 'mine' }],
    ['Unclaimed', { state: 'standby' }],
    ['NotInstalled', { state: 'installing', at: 59 }],
    ['Failed', { state: 'broken' }],
  ] as const)('%s is how a lease may end', (outcome, cluster) => {
    expect(end(cluster)?.outcome).toBe(outcome)
  })

  test('has the last ten holders, the newest first, with what went wrong', () => {
    let { status } = aCustomization('a')
    for (let lease = 0; lease < 12; lease += 1) {
      const held = {
        ...aCustomization('a', { cluster: `c-${lease}`, since: lease }).status,
        history: status?.history ?? [],
      }
      status = { history: withHolder(held, { outcome: 'Failed', message: 'x'.repeat(999) }, minutes(lease + 1)) }
    }
    expect(status?.history).toHaveLength(10)
    expect(status?.history?.[0]).toEqual({
      clusterDeployment: 'c-11',
      clusterPool: 'pool',
      leasedAt: '2026-03-01T08:11:00Z',
      releasedAt: '2026-03-01T08:12:00.000Z',
      outcome: 'Failed',
      message: 'x'.repeat(256),
    })
    expect(withHolder({ history: status?.history ?? [] }, { outcome: 'Lost' }, minutes(99))).toHaveLength(10)
  })
})
