/** CLUSTER-12: the request that registers a cluster arrives when its ClusterDeployment has gone. No record is left of it. */
import { expect, test } from 'vitest'
import { Namespace } from '#apis/kubernetes.ts'
import { KUBERNETES, REGISTRATION } from '#controllers/clusterdeployment/labels.ts'
import { systemClock } from '#operator/index.ts'
import { front } from './front.ts'
import { hurriedClock, type World, world } from './world.ts'

const remove = (the: World, name: string) =>
  the.plane.rest('DELETE', `/apis/hive.openshift.io/v1/namespaces/${the.namespace}/clusterdeployments/${name}`)

const expectGone = (the: World, name: string) => the.eventually(async () => expect(await the.get(name)).toBeUndefined())

/** What is registered is on its way out, or gone: no adapter of the test cleans up. */
const expectNoneLeft = (the: World, registration: string) =>
  the.eventually(async () => {
    const living = (await the.clusters(registration)).filter(({ deleted_time }) => deleted_time === undefined)
    expect(living).toEqual([])
  })

/** A front at which the first request for a registration breaks: for its sender it may have been done, or be done later. */
const breakingFront = async (the: World) => {
  const before = await front(the.url)
  const asked = Promise.withResolvers<void>()
  before.decide(({ method, path }) => {
    if (method !== 'POST' || !path.endsWith('/clusters')) return 'pass'
    asked.resolve()
    return 'drop'
  })
  return { url: before.url, asked: asked.promise, [Symbol.asyncDispose]: () => before[Symbol.asyncDispose]() }
}

/** A proxy gives the request on now. */
const deliver = (the: World, name: string, registration: string, labels: Readonly<Record<string, string>> = {}) =>
  the.call('POST', '/clusters', {
    kind: 'Cluster',
    name,
    labels: { [REGISTRATION]: registration, ...labels },
    spec: { clusterDeployment: { namespace: the.namespace, name } },
  })

test('the manager that asked for it deletes what is registered when the ClusterDeployment is gone', {
  timeout: 120_000,
}, async () => {
  await using the = await world()
  await using before = await breakingFront(the)
  await the.manager({ url: before.url, clock: hurriedClock() })
  const { metadata } = await the.declare('asked')
  await before.asked
  await remove(the, 'asked')
  await expectGone(the, 'asked')
  await deliver(the, 'asked', metadata.uid)
  await expectNoneLeft(the, metadata.uid)
})

/** What is to be deleted late is; so each late registration that came before was looked at, too. */
const expectSweep = async (the: World) => {
  const marker = await the.declare('marker')
  const { id } = await the.cluster(marker)
  await remove(the, 'marker')
  await the.eventually(async () => expect((await the.clusters(marker.metadata.uid))[0]?.deleted_time).toBeDefined())
  await the.cleanUp(id)
  await expectGone(the, 'marker')
  await deliver(the, 'marker', marker.metadata.uid)
  await expectNoneLeft(the, marker.metadata.uid)
}

test('a cluster that is preserved outlives its ClusterDeployment, though the same manager asked for it', {
  timeout: 120_000,
}, async () => {
  await using the = await world()
  await the.manager({ clock: hurriedClock() })
  const preserved = await the.declare('preserved', { preserveOnDelete: true })
  const { id } = await the.cluster(preserved)
  await the.report(id, 'True')
  await the.until('preserved', 'Provisioned')
  await remove(the, 'preserved')
  await expectGone(the, 'preserved')
  await expectSweep(the)
  expect((await the.clusters(preserved.metadata.uid)).map(({ deleted_time }) => deleted_time)).toEqual([undefined])
})

test('a cluster whose ClusterDeployment Kubernetes has forgotten stays, while the manager that asked for it runs on', {
  timeout: 120_000,
}, async () => {
  await using the = await world()
  await using proxy = await the.plane.proxy()
  await the.manager({ server: proxy.server, clock: hurriedClock() })
  const forgotten = await the.declare('forgotten')
  const { id } = await the.cluster(forgotten)
  await the.report(id, 'True')
  await the.until('forgotten', 'Provisioned')
  // It goes as with an etcd that is put back: without a deletion, and without anything that the manager could do about it.
  proxy.decide(({ method }) => (method === 'GET' ? 'pass' : 'drop'))
  await the.change('forgotten', { metadata: { finalizers: null } })
  await remove(the, 'forgotten')
  await expectGone(the, 'forgotten')
  proxy.decide(() => 'pass')
  await expectSweep(the)
  expect((await the.clusters(forgotten.metadata.uid)).map(({ deleted_time }) => deleted_time)).toEqual([undefined])
})

test('what arrives when its sender is gone is deleted by the manager that saw the ClusterDeployment go', {
  timeout: 120_000,
}, async () => {
  await using the = await world()
  await using before = await breakingFront(the)
  const sender = await the.manager({ url: before.url })
  const { metadata } = await the.declare('dropped')
  await before.asked
  await sender.stop()
  await remove(the, 'dropped')
  await the.manager({ clock: hurriedClock() })
  await expectGone(the, 'dropped')
  await deliver(the, 'dropped', metadata.uid)
  await expectNoneLeft(the, metadata.uid)
})

test('a ClusterDeployment that is restored after it went keeps the cluster that it gets then', {
  timeout: 120_000,
}, async () => {
  await using the = await world()
  const manager = await the.manager({ clock: hurriedClock() })
  const first = await the.declare('restored')
  const { id } = await the.cluster(first)
  await remove(the, 'restored')
  await the.eventually(async () => expect((await the.clusters(first.metadata.uid))[0]?.deleted_time).toBeDefined())
  await the.cleanUp(id)
  await expectGone(the, 'restored')

  const restored = await the.declare('restored', {}, { annotations: { [REGISTRATION]: first.metadata.uid } })
  const again = await the.cluster(restored)
  await the.report(again.id, 'True')
  await the.until('restored', 'Provisioned')
  // Ten sweeps later it is the same one.
  await systemClock.sleep('5s')
  expect((await the.clusters(first.metadata.uid)).map((one) => [one.id, one.deleted_time])).toEqual([
    [again.id, undefined],
  ])
  await manager.stop()
})

test('CLUSTER-43: what arrives when the manager that saw the ClusterDeployment go has ended is deleted by no other, and is counted', {
  timeout: 120_000,
}, async () => {
  await using the = await world()
  await using before = await breakingFront(the)
  const sender = await the.manager({ url: before.url, clock: hurriedClock() })
  const { metadata } = await the.declare('late')
  await before.asked
  await remove(the, 'late')
  await expectGone(the, 'late')
  await sender.stop()
  const uid = (await the.kube.get(Namespace, 'kube-system'))?.metadata.uid ?? ''
  await deliver(the, 'late', metadata.uid, { [KUBERNETES]: uid })
  await deliver(the, 'foreign', 'of-another', { [KUBERNETES]: 'another' })
  const next = await the.manager({ clock: hurriedClock() })
  const counted = async () =>
    /^muster_clusterdeployment_clusters_without_deployment (\d+)/m.exec(await next.registry.metrics())?.[1]
  // One that has its ClusterDeployment is none of these.
  const { id } = await the.cluster(await the.declare('there'))
  await the.report(id, 'True')
  await the.until('there', 'Provisioned')
  await the.eventually(async () => expect(await counted()).toBe('1'))
  expect((await the.clusters(metadata.uid)).map(({ deleted_time }) => deleted_time)).toEqual([undefined])
})
