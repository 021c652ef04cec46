/** What goes wrong between two writes of a pool, or between a write and its answer. */
import { describe, expect, test } from 'vitest'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { COPIED_LABEL, LEASE_FINALIZER, POOL_FINALIZER, POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace, RoleBinding, Secret } from '#apis/kubernetes.ts'
import { ADMIN_BINDING, ADMIN_ROLE } from '#controllers/clusterpool/decide/admin-bindings.ts'
import { createApi } from '#operator/client/api.ts'
import { type Clock, loadTransport, systemClock } from '#operator/index.ts'
import { waitsOf } from '#test/harness/index.ts'
import type { RequestProxy } from '#test/harness/request-proxy.ts'
import { hurriedClock } from '../clusterdeployment/world.ts'
import { eventually, type PoolWorld, poolWorld } from './world.ts'

test('a cluster whose creation is confirmed after its deletion was seen does not count: another one is made', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  const confirmed = Promise.withResolvers<void>()
  let creations = 0
  proxy.decide(({ method, path }) => {
    if (method !== 'POST' || !path.split('?', 1)[0]?.endsWith('/clusterdeployments')) return 'pass'
    creations += 1
    return creations === 1 ? { late: confirmed.promise } : 'pass'
  })
  await the.start({ server: proxy.server })
  await the.pool('late')
  const [first] = await eventually(async () => {
    const clusters = await the.clusters('late')
    expect(clusters).toHaveLength(1)
    return clusters
  })
  await the.api.delete(ClusterDeployment, first?.metadata.name ?? '', first?.metadata.namespace)
  await eventually(async () => expect(await the.clusters('late')).toEqual([]))
  await seenSoFar(the, 'witness')
  confirmed.resolve()
  await eventually(async () => {
    const [second] = await the.clusters('late')
    expect(second?.metadata.name).toBeDefined()
    expect(second?.metadata.name).not.toBe(first?.metadata.name)
  })
})

test('POOL-65: while every write of a status loses, the next pass of a pool, a claim and a customization waits ever longer', {
  timeout: 180_000,
}, async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  const { lines } = await the.start({ server: proxy.server })
  const STATUS =
    /\/(clusterpools\/overtaken-pool|clusterclaims\/overtaken-claim|clusterdeploymentcustomizations\/overtaken)\/status/
  const overtake = () =>
    proxy.decide(({ method, path }) => (method !== 'GET' && STATUS.test(path) ? { status: 409 } : 'pass'))
  const objects = ['overtaken-pool', 'overtaken-claim', 'overtaken'].map((name) => `${the.namespace}/${name}`)
  const expectWaits = (waits: readonly number[]) =>
    eventually(() => {
      for (const object of objects)
        expect([object, waitsOf(lines, object)]).toEqual([object, expect.arrayContaining([...waits])])
    }, 60_000)

  overtake()
  await the.customize(['overtaken'])
  await the.pool('overtaken-pool', { size: 0 })
  await the.claim('overtaken-claim', 'there-is-none')
  await expectWaits([1_000, 2_000, 4_000])

  // One that wins ends it.
  proxy.decide(() => 'pass')
  await eventually(async () => {
    expect((await the.get.pool('overtaken-pool')).status?.conditions).toBeDefined()
    expect((await the.get.claim('overtaken-claim')).status?.conditions).toBeDefined()
    expect((await the.get.customization('overtaken')).status?.conditions).toBeDefined()
  }, 60_000)
  const pool = `${the.namespace}/overtaken-pool`
  const before = waitsOf(lines, pool).length
  overtake()
  await the.change('overtaken-pool', { baseDomain: 'example.org' })
  await eventually(() => expect(waitsOf(lines, pool).slice(before)).toContain(1_000))
})

/** One that says that it is of the pool. */
const clusterOf = (the: PoolWorld, poolName: string, name: string, namespace: string): Promise<ClusterDeployment> =>
  the.api.create(ClusterDeployment, {
    metadata: { name, namespace },
    spec: {
      clusterName: name,
      baseDomain: 'example.com',
      platform: { aws: { region: 'us-east-1' } },
      clusterPoolRef: { namespace: the.namespace, poolName },
    },
  })

/** Until the manager has seen what has happened to clusters: a pool that does nothing counts one that is made now. */
const seenSoFar = async (the: PoolWorld, witness: string): Promise<void> => {
  const { metadata } = await the.pool(witness, { size: 0, maxConcurrent: 0 })
  const name = `${the.namespace}-${witness}`
  await the.api.create(Namespace, { metadata: { name, labels: { [POOL_LABELS.uid]: metadata.uid } } })
  await clusterOf(the, witness, name, name)
  await eventually(async () => expect((await the.get.pool(witness)).status?.size).toBe(1))
}

/** From now on no watch shows what becomes of clusters. */
const delayWatchEvents = (proxy: RequestProxy): void => {
  const shown = Promise.withResolvers<'pass'>()
  proxy.decide(({ path }) => (/\/clusterdeployments\?.*watch=true/.test(path) ? shown.promise : 'pass'))
  proxy.cut()
}

test('a namespace with a claimed cluster stays when its pool is deleted, though the watch has not shown the cluster', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  await the.start({ server: proxy.server })
  const { metadata } = await the.pool('behind', { size: 0, maxConcurrent: 0 })
  // As another manager would have made it. The pool has seen it when it has let its admins in.
  const name = `${the.namespace}-live`
  await the.api.create(Namespace, { metadata: { name, labels: { [POOL_LABELS.uid]: metadata.uid } } })
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: ADMIN_ROLE }
  const subjects = [{ apiGroup: roleRef.apiGroup, kind: 'User', name: 'ann' } as const]
  await the.api.create(RoleBinding, { metadata: { name: 'admins', namespace: the.namespace }, subjects, roleRef })
  await eventually(async () => expect(await the.api.get(RoleBinding, ADMIN_BINDING, name)).toBeDefined())

  delayWatchEvents(proxy)
  await clusterOf(the, 'behind', name, name)
  await the.claim('mine', 'behind')
  const given = { spec: { namespace: name } }
  await the.api.patch(ClusterClaim, { name: 'mine', namespace: the.namespace, type: 'merge', body: given })
  const claimed = { spec: { clusterPoolRef: { claimName: 'mine' } } }
  await the.api.patch(ClusterDeployment, { name, namespace: name, type: 'merge', body: claimed })
  await the.api.delete(ClusterPool, 'behind', the.namespace)
  await eventually(async () => {
    const { status } = await the.get.pool('behind')
    expect(status?.conditions?.find(({ type }) => type === 'DeletionPossible')).toMatchObject({
      reason: 'ClusterDeploymentsPendingCleanup',
      message: name,
    })
  })
  const deletions = proxy.requests().filter(({ method, path }) => method === 'DELETE' && path.endsWith(`/${name}`))
  expect(deletions).toEqual([])
})

test('a pool does not leave behind a cluster that the watch has not shown', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  await the.start({ server: proxy.server })
  const { metadata } = await the.pool('leaving', { size: 0 })
  await eventually(async () => expect((await the.get.pool('leaving')).metadata.finalizers).toContain(POOL_FINALIZER))
  delayWatchEvents(proxy)
  const name = `${the.namespace}-left`
  await the.api.create(Namespace, { metadata: { name, labels: { [POOL_LABELS.uid]: metadata.uid } } })
  await clusterOf(the, 'leaving', name, name)
  await the.api.delete(ClusterPool, 'leaving', the.namespace)
  // It becomes the pool's: deleted with it, and nothing else would.
  await eventually(async () => expect(await the.api.get(ClusterDeployment, name, name)).toBeUndefined())
})

describe('a pool without inventory', () => {
  test('whose clusters the API server refuses says so, and makes none before its pool changes', async () => {
    await using the = await poolWorld()
    await using proxy = await the.plane.proxy()
    await the.start({ server: proxy.server, clock: standingClock() })
    await the.pool('refused', { labels: { team: 'no value of a label' } })
    await eventually(async () => {
      const { status } = await the.get.pool('refused')
      expect(status?.conditions?.find(({ type }) => type === 'Stalled')).toMatchObject({
        status: 'True',
        reason: 'BrokenByConfiguration',
        message: expect.stringMatching(/^the API server refuses its clusters: .*metadata.labels/),
      })
    })
    expect(creationsOf('clusterdeployments', proxy)).toBe(1)
    await the.change('refused', { labels: { team: 'a-value' } })
    await eventually(async () => expect((await the.get.pool('refused')).status).toMatchObject({ standby: 1 }))
    expect(creationsOf('namespaces', proxy)).toBe(2)
  })

  test('whose clusters the API server refuses for a while tries again by itself, and is filled when they are taken', async () => {
    await using the = await poolWorld()
    await using proxy = await the.plane.proxy()
    let refused = 0
    proxy.decide(({ method, path }) => {
      if (method !== 'POST' || !path.split('?', 1)[0]?.endsWith('/clusterdeployments') || refused === 3) return 'pass'
      refused += 1
      return { status: 422 }
    })
    await the.start({ server: proxy.server, clock: hurriedClock() })
    await the.pool('patient', { size: 2 })
    await eventually(async () => expect((await the.get.pool('patient')).status).toMatchObject({ standby: 2 }))
    // What was refused leaves no namespace behind.
    await eventually(async () => {
      const left = (await namespacesOf(the, 'patient')).filter(({ metadata }) => !metadata.deletionTimestamp)
      expect(left).toHaveLength(2)
    })
  })

  test('goes on with the cluster that it has begun when one of its writes failed, and begins no other', async () => {
    await using the = await poolWorld()
    await using proxy = await the.plane.proxy()
    let forbidden = 0
    proxy.decide(({ method, path }) => {
      if (method !== 'PATCH' || !path.includes('/secrets/') || forbidden >= 3) return 'pass'
      forbidden += 1
      return { status: 403 }
    })
    await the.start({ server: proxy.server })
    await the.pool('begun')
    await eventually(async () => expect((await the.get.pool('begun')).status).toMatchObject({ standby: 1 }))
    expect(forbidden).toBe(3)
    expect(await namespacesOf(the, 'begun')).toHaveLength(1)
  })
})

test('POOL-9: a customization whose finalizer was left behind when its lease was released can be deleted, listed or not', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  await the.start({ server: proxy.server })
  await the.customize(['left', 'next'])
  await the.pool('pool', { inventory: ['left', 'next'] })
  await eventually(async () => expect((await the.get.pool('pool')).status).toMatchObject({ standby: 1 }))
  let refused = 0
  proxy.decide(({ method, path }) => {
    if (method !== 'PATCH' || !path.split('?', 1)[0]?.endsWith('/clusterdeploymentcustomizations/left')) return 'pass'
    refused += 1
    return refused === 1 ? { status: 500 } : 'pass'
  })
  await the.change('pool', { inventory: { ClusterDeploymentCustomizations: [{ name: 'next' }] } })
  await eventually(async () => {
    const { status } = await the.get.pool('pool')
    expect(Object.entries(status?.inventory ?? {}).map(([name, entry]) => [name, entry.status])).toEqual([
      ['next', 'Reserved'],
    ])
  })
  const { status, metadata } = await the.get.customization('left')
  expect([status?.clusterDeploymentRef, metadata.finalizers]).toEqual([undefined, [LEASE_FINALIZER]])

  await the.api.delete(ClusterDeploymentCustomization, 'left', the.namespace)
  await eventually(async () =>
    expect(await the.api.get(ClusterDeploymentCustomization, 'left', the.namespace)).toBeUndefined(),
  )
})

/** What no lease has room for in lastAppliedConfiguration. */
const large = Array.from({ length: 5 }, (_, index) => ({
  op: 'add' as const,
  path: `/part${index}`,
  valueJSON: JSON.stringify('x'.repeat(60_000)),
}))

test('a customization whose patches are larger than what is kept of them is leased like any other', async () => {
  await using the = await poolWorld()
  await the.start()
  await the.customize(['large'], { installConfigPatches: large })
  await the.pool('roomy', { inventory: ['large'] })
  await eventually(async () => expect((await the.get.pool('roomy')).status).toMatchObject({ standby: 1 }))
  expect((await the.get.customization('large')).status?.lastAppliedConfiguration).toBeUndefined()
})

test('patches that do not fit the template are tried again when the template was corrected, which nothing watches', async () => {
  await using the = await poolWorld()
  const secret = { name: 'template', namespace: the.namespace }
  const labels = { [COPIED_LABEL]: 'true' }
  await the.api.create(Secret, {
    metadata: { ...secret, labels },
    stringData: { 'install-config.yaml': 'apiVersion: v1' },
  })
  await the.customize(['more'], { installConfigPatches: [{ op: 'replace', path: '/controlPlane/replicas', value: 5 }] })
  await the.start({ clock: hurriedClock() })
  await the.pool('templated', { inventory: ['more'], installConfigSecretTemplateRef: { name: 'template' } })
  const entryIs = (status: string) =>
    eventually(async () => expect((await the.get.pool('templated')).status?.inventory?.more?.status).toBe(status))
  await entryIs('BrokenByConfiguration')
  const corrected = { 'install-config.yaml': 'apiVersion: v1\ncontrolPlane: {replicas: 3}' }
  await the.api.patch(Secret, { ...secret, type: 'merge', body: { stringData: corrected } })
  await entryIs('Reserved')
})

/** A clock by which no pause is ever over. */
const standingClock = (): Clock => {
  const now = systemClock.now()
  return { ...systemClock, now: () => now }
}

/** Objects of a kind that were asked for, whether they came to be or not. */
const creationsOf = (plural: string, proxy: RequestProxy): number =>
  proxy.requests().filter(({ method, path }) => method === 'POST' && path.split('?', 1)[0]?.endsWith(`/${plural}`))
    .length

const namespacesOf = async (the: PoolWorld, pool: string): Promise<readonly Namespace[]> => {
  const { uid } = (await the.get.pool(pool)).metadata
  return Array.fromAsync(the.api.list(Namespace, { labelSelector: `${POOL_LABELS.uid}=${uid}` }))
}

test('POOL-59: a namespace that a person labelled with the pool’s uid is left alone, and keeps no pool', async () => {
  await using the = await poolWorld()
  const manager = await the.start({ clock: hurriedClock() })
  const pool = await the.pool('labelled', { size: 1 })
  await eventually(async () => expect(await the.clusters('labelled')).toHaveLength(1))
  const [own] = await the.clusters('labelled')
  const name = `${the.namespace}-strange`
  const labels = { [POOL_LABELS.uid]: pool.metadata.uid, [POOL_LABELS.name]: 'labelled' }
  const other = await loadTransport({ kubeconfig: the.plane.kubeconfig, userAgent: 'kubectl/v1' })
  await createApi(other).create(Namespace, { metadata: { name, labels } })
  await other.close()
  // Its own namespaces go when their clusters have gone, and it goes itself.
  await the.api.delete(ClusterPool, 'labelled', the.namespace)
  await eventually(async () => expect(await the.api.get(ClusterPool, 'labelled', the.namespace)).toBeUndefined())
  expect((await the.api.get(Namespace, own?.metadata.namespace ?? ''))?.metadata.deletionTimestamp).toBeDefined()
  expect((await the.api.get(Namespace, name))?.metadata.deletionTimestamp).toBeUndefined()
  expect(manager.lines.some((line) => line.includes(`namespace ${name} carries the label`))).toBe(true)
})
