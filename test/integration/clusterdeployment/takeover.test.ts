/**
 * POOL-58, on a real API server with the real bridge: a manager of pools slept between its lease and its cluster, and another one, that did
 * not find the cluster, takes the lease over in the very moment in which the cluster is made after all. The first to write has the
 * customization; the other one's cluster is never registered.
 */
import { expect, test } from 'vitest'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { writeLease } from '#controllers/clusterpool/lease/lease-writes.ts'
import { toObserved } from '#controllers/clusterpool/model/observed.ts'
import { noRejections } from '#controllers/clusterpool/observe/rejections.ts'
import { WriteCache } from '#controllers/clusterpool/observe/write-cache.ts'
import { isConflict, systemClock } from '#operator/index.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { waitsOf } from '#test/harness/index.ts'
import { aPool } from '#test/worlds/clusterpool/builders.ts'
import { hurriedClock, type World, world } from './world.ts'

const LEASED = 'contested'

const poolRef = (the: World) => ({
  namespace: the.namespace,
  poolName: 'pool',
  clusterDeploymentCustomization: { name: LEASED },
})

/** What a manager that looks now would write later: its lease for another cluster. @returns whether the API server took it */
const observeAndLease = async (the: World, cluster: string) => {
  const pool: ClusterPool = {
    ...aPool({ inventory: [LEASED] }),
    metadata: { ...aPool().metadata, namespace: the.namespace },
  }
  const found = await the.kube.get(ClusterDeploymentCustomization, LEASED, the.namespace)
  const objects = { pool, clusters: [], claims: [], customizations: found === undefined ? [] : [found] }
  const state = toObserved(objects).customizations.get(LEASED)
  if (state === undefined) throw new Error(`customization ${LEASED} is not there`)
  const context = {
    api: the.kube,
    clock: systemClock,
    pool,
    objects,
    writeCache: new WriteCache(),
    secrets: [],
    preflight: {},
    podSecurity: 'restricted' as const,
    podNetwork: 'closed' as const,
    rejections: noRejections(),
    unfinishedClusters: new Map(),
  }
  return async (): Promise<boolean> => {
    try {
      await writeLease(context, state, { name: cluster, namespace: the.namespace })
      return true
    } catch (error) {
      if (isConflict(error)) return false
      throw error
    }
  }
}

test('a cluster that is registered while its lease is taken over keeps the lease: the other one’s write is refused', async () => {
  await using the = await world()
  await the.manager()
  await the.customize(LEASED, 'late')
  // The cluster `late` is not there: its maker sleeps.
  const takeOver = await observeAndLease(the, 'taker')
  const late = await the.declare('late', { clusterPoolRef: poolRef(the) })
  await the.cluster(late)
  const isTaken = await takeOver()
  const taker = await the.declare('taker', { clusterPoolRef: poolRef(the) })
  await the.until('taker', 'WaitingForLease')
  expect(isTaken).toBe(false)
  expect(await the.clusters(taker.metadata.uid)).toEqual([])
})

test('a cluster whose lease is taken over while it is looked at is not registered, and the other one is', async () => {
  await using the = await world()
  await using proxy = await the.plane.proxy()
  const looked = Promise.withResolvers<void>()
  const isTaken = Promise.withResolvers<void>()
  // The bridge has read the lease, and is about to register the cluster.
  proxy.decide(({ method, path }) => {
    if (method !== 'PATCH' || !path.includes(`/clusterdeploymentcustomizations/${LEASED}/status`)) return 'pass'
    looked.resolve()
    return isTaken.promise.then(() => 'pass' as const)
  })
  await the.manager({ server: proxy.server })
  await the.customize(LEASED, 'late')
  const takeOver = await observeAndLease(the, 'taker')
  const late = await the.declare('late', { clusterPoolRef: poolRef(the) })
  await looked.promise
  expect(await takeOver()).toBe(true)
  isTaken.resolve()
  const taker = await the.declare('taker', { clusterPoolRef: poolRef(the) })
  await the.cluster(taker)
  await the.until('late', 'WaitingForLease')
  expect(await the.clusters(late.metadata.uid)).toEqual([])
})

test('POOL-65: while the customization of a cluster is written by others each time, its next pass waits ever longer, and it is registered when not', async () => {
  await using the = await world()
  await using proxy = await the.plane.proxy()
  proxy.decide(({ method, path }) =>
    method === 'PATCH' && path.includes(`/clusterdeploymentcustomizations/${LEASED}/status`) ? { status: 409 } : 'pass',
  )
  const { lines } = await the.manager({ server: proxy.server })
  await the.customize(LEASED, 'overtaken')
  const overtaken = await the.declare('overtaken', { clusterPoolRef: poolRef(the) })
  await the.eventually(() =>
    expect(waitsOf(lines, `${the.namespace}/overtaken`)).toEqual(expect.arrayContaining([1_000, 2_000, 4_000])),
  )
  expect(await the.clusters(overtaken.metadata.uid)).toEqual([])
  proxy.decide(() => 'pass')
  await the.cluster(overtaken)
})

test('CLUSTER-13: a customization whose cluster Kubernetes has forgotten is not registered with a second one, until the first is gone', async () => {
  await using the = await world()
  const first = await the.manager()
  await the.customize(LEASED, 'forgotten')
  const forgotten = await the.declare('forgotten', { clusterPoolRef: poolRef(the) })
  const { id } = await the.cluster(forgotten)
  await the.report(id, 'True')
  await the.until('forgotten', 'Provisioned')
  await first.stop()
  // What an etcd that is put back to an earlier moment leaves of them.
  await the.change('forgotten', { metadata: { finalizers: null } })
  const named = `/apis/hive.openshift.io/v1/namespaces/${the.namespace}/`
  await the.plane.rest('DELETE', `${named}clusterdeployments/forgotten`)
  await the.plane.rest('DELETE', `${named}clusterdeploymentcustomizations/${LEASED}`)
  await the.customize(LEASED, 'second')

  await the.manager({ clock: hurriedClock() })
  const second = await the.declare('second', { clusterPoolRef: poolRef(the) })
  const waiting = await the.until('second', 'CustomizationInUse')
  expect(findCondition(waiting.status?.conditions, 'Stalled')?.message).toBe(
    `cluster ${id} of the HyperFleet API, of ClusterDeployment ${the.namespace}/forgotten, has the customization contested: delete it there, or bring its ClusterDeployment back from a backup; this one is registered when it is gone`,
  )
  expect(await the.clusters(second.metadata.uid)).toEqual([])
  expect((await the.clusters(forgotten.metadata.uid)).map(({ deleted_time }) => deleted_time)).toEqual([undefined])

  await the.call('DELETE', `/clusters/${id}`)
  await the.cleanUp(id)
  await the.cluster(second)
})
