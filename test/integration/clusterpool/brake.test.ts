/**
 * POOL-53, POOL-60: many claims vanish without having given their clusters back, as after a namespace was restored without them.
 * POOL-66: the namespace of pool and claims is deleted.
 */
import { expect, test } from 'vitest'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { RELEASE_DELETIONS_ANNOTATION, REMOVE_ANNOTATIONS } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace } from '#apis/kubernetes.ts'
import { planOf } from '#cmd/pool/plan.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { hurriedClock } from '../clusterdeployment/world.ts'
import { eventually, type PoolWorld, poolWorld } from './world.ts'

const LONG = 40_000

/** The claims that the pool's clusters say they have: the pool counts one as claimed before it says so itself. */
const claimsOf = async ({ clusters }: PoolWorld, pool: string): Promise<readonly string[]> =>
  (await clusters(pool)).flatMap(({ spec }) => spec.clusterPoolRef?.claimName || []).toSorted()

test('clusters whose claims are gone are held and listed when they are many, and go when a person releases the list', {
  timeout: 300_000,
}, async () => {
  await using the = await poolWorld()
  const manager = await the.start()
  const claims = ['one', 'two', 'three']
  await the.pool('claimed', { size: 0 })
  for (const name of claims) await the.claim(name, 'claimed')
  await eventually(async () => expect((await the.get.pool('claimed')).status).toMatchObject({ claimed: 3 }), LONG)
  await eventually(async () => expect(await claimsOf(the, 'claimed')).toEqual(claims.toSorted()), LONG)
  await manager.stop()
  for (const name of claims) {
    await the.api.delete(ClusterClaim, name, the.namespace)
    const body = { metadata: { finalizers: [] } }
    await the.api.patch(ClusterClaim, { name, namespace: the.namespace, type: 'merge', body })
  }

  const second = await the.start({ clock: hurriedClock() })
  const names = (await the.clusters('claimed')).map(({ metadata }) => metadata.name)
  const message = await eventually(async () => {
    const held = findCondition((await the.get.pool('claimed')).status?.conditions, 'DeletionsHeld')
    expect(held).toMatchObject({ status: 'True', reason: 'TooManyAtOnce' })
    for (const name of names) expect(held?.message).toContain(name)
    return held?.message ?? ''
  }, LONG)
  expect((await the.clusters('claimed')).map(({ metadata }) => metadata.deletionTimestamp)).toEqual([
    undefined,
    undefined,
    undefined,
  ])

  // POOL-60: neither another manager nor fewer of them let go of what is held; `muster pool plan` says so.
  await second.stop()
  await the.start({ clock: hurriedClock() })
  const kubeconfig = the.plane.kubeconfig
  const plan = await planOf({
    name: 'claimed',
    namespace: the.namespace,
    output: 'text',
    kubeconfig,
    context: undefined,
  })
  expect(plan).toMatch(/Wait +deletions/)
  expect(plan).not.toContain('DeleteCluster')

  const [release] = /[0-9a-f]{12}$/.exec(message) ?? []
  const metadata = { annotations: { [RELEASE_DELETIONS_ANNOTATION]: release ?? '' } }
  await the.api.patch(ClusterPool, { name: 'claimed', namespace: the.namespace, type: 'merge', body: { metadata } })
  await eventually(async () => expect(await the.clusters('claimed')).toEqual([]), LONG)
  await eventually(async () => {
    const held = findCondition((await the.get.pool('claimed')).status?.conditions, 'DeletionsHeld')
    expect(held?.status).toBe('False')
  }, LONG)
})

test('POOL-66: a namespace of pool and claims that is deleted takes none of many clusters along, until a person releases them', {
  timeout: 300_000,
}, async () => {
  const plane = await sharedControlPlane()
  await using the = await poolWorld(plane, await plane.namespace('managers'))
  await the.start()
  await the.pool('ending', { size: 2 })
  for (const name of ['one', 'two']) await the.claim(name, 'ending')
  await eventually(
    async () => expect((await the.get.pool('ending')).status).toMatchObject({ size: 2, claimed: 2 }),
    LONG,
  )
  const names = async () => (await the.clusters('ending')).map(({ metadata }) => metadata.name)
  const deleted = async () => (await the.clusters('ending')).filter(({ metadata }) => metadata.deletionTimestamp)
  await eventually(async () => expect(await names()).toHaveLength(4), LONG)
  await eventually(async () => expect(await claimsOf(the, 'ending')).toEqual(['one', 'two']), LONG)
  const all = await names()

  await plane.rest('DELETE', `/api/v1/namespaces/${the.namespace}`)
  const message = await eventually(async () => {
    const { metadata, status } = await the.get.pool('ending')
    expect(metadata.deletionTimestamp).toBeDefined()
    const held = findCondition(status?.conditions, 'DeletionsHeld')
    expect(held).toMatchObject({ status: 'True', reason: 'TooManyAtOnce' })
    for (const name of all) expect(held?.message).toContain(name)
    return held?.message ?? ''
  }, LONG)
  // Its claims are marked as given up by now, and the pool has looked at that.
  await eventually(async () => {
    for (const name of ['one', 'two']) expect((await the.get.claim(name)).metadata.deletionTimestamp).toBeDefined()
    const marked = (await the.clusters('ending')).filter(({ metadata }) =>
      REMOVE_ANNOTATIONS.some((annotation) => metadata.annotations?.[annotation] === 'true'),
    )
    expect(marked).toHaveLength(2)
  }, LONG)
  expect(await names()).toEqual(all)
  expect(await deleted()).toEqual([])

  const [release] = /[0-9a-f]{12}$/.exec(message) ?? []
  const metadata = { annotations: { [RELEASE_DELETIONS_ANNOTATION]: release ?? '' } }
  await the.api.patch(ClusterPool, { name: 'ending', namespace: the.namespace, type: 'merge', body: { metadata } })
  await eventually(async () => expect(await names()).toEqual([]), LONG)
  await eventually(async () => expect(await the.api.get(Namespace, the.namespace)).toBeUndefined(), 60_000)
})

test('POOL-66: a namespace that a person ended by force, though it waited for clusters, takes none along either, nor does one made in its place', {
  timeout: 300_000,
}, async () => {
  const plane = await sharedControlPlane()
  await using the = await poolWorld(plane, await plane.namespace('managers'))
  await using proxy = await plane.proxy()
  await the.start({ server: proxy.server })
  await the.pool('forced', { size: 2 })
  await the.claim('mine', 'forced')
  await eventually(
    async () => expect((await the.get.pool('forced')).status).toMatchObject({ size: 2, claimed: 1 }),
    LONG,
  )
  const clusters = async () =>
    (await the.clusters('forced')).map(({ metadata }) => [metadata.name, metadata.deletionTimestamp])
  await eventually(async () => expect(await clusters()).toHaveLength(3), LONG)
  await eventually(async () => expect(await claimsOf(the, 'forced')).toEqual(['mine']), LONG)
  const all = await clusters()
  const path = `/api/v1/namespaces/${the.namespace}`
  /** Passes that began after this call, and ended. */
  const passes = async () => {
    const looks = () => proxy.requests().filter((one) => one.method === 'GET' && one.path.split('?', 1)[0] === path)
    for (const wake of ['a', 'b', 'c']) {
      const before = looks().length
      for (const { metadata } of await the.clusters('forced'))
        await the.api.patch(ClusterDeployment, {
          name: metadata.name,
          namespace: metadata.namespace ?? '',
          type: 'merge',
          body: { metadata: { annotations: { 'example.com/wake': wake + before } } },
        })
      await eventually(() => expect(looks().length).toBeGreaterThan(before), LONG)
    }
  }

  await plane.rest('DELETE', path)
  const release = await eventually(async () => {
    const held = findCondition((await the.get.pool('forced')).status?.conditions, 'DeletionsHeld')
    expect(held?.status).toBe('True')
    for (const [name] of all) expect(held?.message).toContain(name)
    return /[0-9a-f]{12}$/.exec(held?.message ?? '')?.[0] ?? ''
  }, LONG)
  await plane.rest('PUT', `${path}/finalize`, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: the.namespace },
    spec: { finalizers: [] },
  })
  await eventually(async () => expect(await the.api.get(Namespace, the.namespace)).toBeUndefined(), LONG)
  await passes()
  expect(await clusters()).toEqual(all)

  await the.api.create(Namespace, { metadata: { name: the.namespace } })
  await passes()
  expect(await clusters()).toEqual(all)

  const metadata = { annotations: { [RELEASE_DELETIONS_ANNOTATION]: release } }
  await the.api.patch(ClusterPool, { name: 'forced', namespace: the.namespace, type: 'merge', body: { metadata } })
  await eventually(async () => expect(await clusters()).toEqual([]), LONG)
  await eventually(async () => expect(await the.api.get(ClusterPool, 'forced', the.namespace)).toBeUndefined(), LONG)
})
