/** What keeps a pool from going on, on a real API server: it says so, holds no lease for ever, and goes on when the cause is gone. */
import { expect, test } from 'vitest'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { COPIED_LABEL, POOL_LABELS, RESTORE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace, Secret } from '#apis/kubernetes.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { hurriedClock } from '../clusterdeployment/world.ts'
import { eventually, leaveLease, poolWorld } from './world.ts'

const LONG = 90_000

test('POOL-47: a pool that is denied namespaces says so, gives its lease back, and another pool has the customization', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  proxy.decide(({ method, path }) =>
    method === 'POST' && path.split('?', 1)[0] === '/api/v1/namespaces' ? { status: 403 } : 'pass',
  )
  const manager = await the.start({ server: proxy.server, clock: hurriedClock() })
  await the.customize(['wanted'])
  await the.pool('denied', { inventory: ['wanted'] })
  await eventually(async () => {
    const { status } = await the.get.pool('denied')
    expect(status?.inventory?.wanted?.message).toMatch(
      /^cluster denied-\w+ can't be made: .*; tried again, and the lease is given back after /,
    )
    expect(findCondition(status?.conditions, 'Reconciling')?.reason).toBe('CreationFailing')
  }, LONG)
  await eventually(async () => {
    const { status } = await the.get.pool('denied')
    expect(status?.inventory?.wanted?.message).toMatch(/^cluster denied-\w+ could not be made: .*; leased again after /)
    expect((await the.get.customization('wanted')).status?.clusterDeploymentRef).toBeUndefined()
  }, LONG)
  expect(manager.lines.some((line) => line.startsWith('warn') && line.includes('CreateClusterFailed'))).toBe(true)
  await manager.stop()

  // A manager with more rights, for the other pool: this one keeps out of its way, for it was told nothing yet.
  await the.change('denied', { size: 0 })
  await the.start({ clock: hurriedClock() })
  await the.pool('allowed', { inventory: ['wanted'] })
  await eventually(async () => expect((await the.get.pool('allowed')).status).toMatchObject({ standby: 1 }), LONG)
})

test('POOL-47: a customization whose lease could not be taken rests for nothing: it is leased as soon as it can be', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  let denied = 0
  proxy.decide(({ method, path }) => {
    if (method !== 'PATCH' || !/\/clusterdeploymentcustomizations\/wanted(\?|$)/.test(path) || denied >= 2)
      return 'pass'
    denied += 1
    return { status: 403 }
  })
  await the.start({ server: proxy.server })
  await the.customize(['wanted'])
  await the.pool('patient', { inventory: ['wanted'] })
  await eventually(async () => expect((await the.get.pool('patient')).status).toMatchObject({ standby: 1 }))
  expect(denied).toBe(2)
})

test('POOL-47: a held lease whose namespace never ends is given back, and its cluster is made elsewhere', async () => {
  await using the = await poolWorld()
  await the.customize(['held'])
  const name = `${the.namespace}-ending`
  await the.api.create(Namespace, { metadata: { name } })
  await the.api.create(Secret, { metadata: { name: 'stays', namespace: name, finalizers: ['example.com/stays'] } })
  await the.api.delete(Namespace, name)
  await leaveLease(the, 'held', 'pool', name, new Date())
  await the.start({ clock: hurriedClock() })
  await the.pool('pool', { inventory: ['held'] })
  await eventually(async () => {
    const { status } = await the.get.pool('pool')
    expect(status?.inventory?.held?.message).toContain(`namespace ${name} is being deleted, and has not ended yet`)
  }, LONG)
  await eventually(async () => expect((await the.get.pool('pool')).status).toMatchObject({ standby: 1 }), LONG)
  await the.api.patch(Secret, { name: 'stays', namespace: name, type: 'merge', body: { metadata: { finalizers: [] } } })
})

test('POOL-36: the namespace of a cluster that is released goes with it, however young it is, and the Secret of its install-config too', async () => {
  await using the = await poolWorld()
  await the.start()
  await the.pool('brief', { runningCount: 1 })
  await the.claim('mine', 'brief')
  const name = await eventually(async () => {
    const { spec } = await the.get.claim('mine')
    if (spec.namespace === undefined) throw new Error('it waits')
    return spec.namespace
  })
  expect(await the.api.get(Secret, `${name}-install-config`, name)).toBeDefined()
  await the.api.delete(ClusterClaim, 'mine', the.namespace)
  await eventually(async () => {
    expect(await the.api.get(Secret, `${name}-install-config`, name)).toBeUndefined()
    expect(await the.api.get(Namespace, name)).toBeUndefined()
  })
  // The others stay.
  await eventually(async () => expect((await the.get.pool('brief')).status).toMatchObject({ size: 1, ready: 1 }))
})

test('POOL-36: a namespace that does not end is deleted once, whatever its pool does meanwhile', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  await the.start({ server: proxy.server, clock: hurriedClock() })
  await the.pool('pool')
  await eventually(async () => expect((await the.get.pool('pool')).status).toMatchObject({ standby: 1 }))
  const name = (await the.clusters('pool'))[0]?.metadata.namespace ?? ''
  await the.api.create(Secret, { metadata: { name: 'stays', namespace: name, finalizers: ['example.com/stays'] } })
  await the.change('pool', { size: 0 })
  await eventually(async () => expect((await the.api.get(Namespace, name))?.status?.phase).toBe('Terminating'), LONG)
  // Each is several passes.
  for (const size of [1, 2]) {
    await the.change('pool', { size })
    await eventually(async () => expect((await the.get.pool('pool')).status).toMatchObject({ standby: size }), LONG)
  }
  const deletions = proxy
    .requests()
    .filter(({ method, path }) => method === 'DELETE' && path.split('?', 1)[0] === `/api/v1/namespaces/${name}`)
  expect(deletions).toHaveLength(1)
  await the.api.patch(Secret, { name: 'stays', namespace: name, type: 'merge', body: { metadata: { finalizers: [] } } })
})

test('POOL-2: a manager that was held up after it took a lease makes no cluster when another one has the lease by then', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<'pass'>()
  proxy.decide(({ method, path }) => {
    if (method !== 'PATCH' || !/\/secrets\/slow-/.test(path)) return 'pass'
    ask()
    return goesOn
  })
  await the.start({ server: proxy.server })
  await the.customize(['wanted'])
  await the.pool('slow', { inventory: ['wanted'] })
  await asked
  await leaveLease(the, 'wanted', 'quick', 'quick-one', new Date())
  goOn('pass')
  await eventually(async () =>
    expect((await the.get.pool('slow')).status?.inventory?.wanted).toMatchObject({
      status: 'Unavailable',
      message: expect.stringContaining('in use by cluster quick-one'),
    }),
  )
  expect(await the.clusters('slow')).toEqual([])
})

test('POOL-50: a lease whose pool was removed by force before its cluster was made is given back, and a deleted customization goes', async () => {
  await using the = await poolWorld()
  await the.customize(['kept', 'deleted', 'fresh'])
  const longAgo = new Date(Date.now() - 3_600_000)
  await leaveLease(the, 'kept', 'removed', 'never', longAgo)
  await leaveLease(the, 'deleted', 'removed', 'never-either', longAgo)
  await leaveLease(the, 'fresh', 'removed', 'perhaps-soon', new Date())
  await the.api.delete(ClusterDeploymentCustomization, 'deleted', the.namespace)
  await the.start()
  await eventually(async () => {
    const { status, metadata } = await the.get.customization('kept')
    expect([status?.clusterDeploymentRef, status?.clusterPoolRef, metadata.finalizers]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(findCondition(status?.conditions, 'Available')?.status).toBe('True')
    expect(await the.api.get(ClusterDeploymentCustomization, 'deleted', the.namespace)).toBeUndefined()
  })
  // Of the same sweep, in which it comes before the first one: its maker may be about to make that cluster.
  expect((await the.get.customization('fresh')).status?.clusterDeploymentRef?.name).toBe('perhaps-soon')
})

test('POOL-50: a lease stays whose pool or whose cluster is there, though no watch has shown it', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  await the.start({ server: proxy.server, clock: hurriedClock() })
  await the.customize(['of-pool', 'of-cluster', 'of-none'])
  const { promise: never } = Promise.withResolvers<'pass'>()
  proxy.decide(({ path }) => (/\/cluster(pools|deployments)\?.*watch=true/.test(path) ? never : 'pass'))
  proxy.cut()
  await the.pool('there', { size: 0 })
  const cluster = { baseDomain: 'example.com', clusterName: 'there', platform: { aws: { region: 'us-east-1' } } }
  const place = `${the.namespace}-there`
  await the.api.create(Namespace, { metadata: { name: place, labels: { [POOL_LABELS.uid]: 'of-another' } } })
  await the.api.create(ClusterDeployment, { metadata: { name: 'there', namespace: place }, spec: cluster })
  const longAgo = new Date(Date.now() - 3_600_000)
  await leaveLease(the, 'of-pool', 'there', 'gone', longAgo)
  await leaveLease(the, 'of-cluster', 'gone', 'there', longAgo, place)
  await leaveLease(the, 'of-none', 'gone', 'gone', longAgo)
  const holder = async (name: string) => (await the.get.customization(name)).status?.clusterDeploymentRef?.name
  // They are looked at one after the other, this one last.
  await eventually(async () => expect(await holder('of-none')).toBeUndefined())
  expect([await holder('of-pool'), await holder('of-cluster')]).toEqual(['gone', 'there'])
})

test('POOL-50, POOL-52: a lease that comes from a backup before its pool and its cluster is kept until its label is taken off', async () => {
  await using the = await poolWorld()
  await the.customize(['first', 'second', 'third'])
  const longAgo = new Date(Date.now() - 3_600_000)
  const leave = (name: string) => leaveLease(the, name, 'not-yet', 'not-yet', longAgo)
  await leave('first')
  const label = (value: string | null) =>
    the.api.patch(ClusterDeploymentCustomization, {
      name: 'first',
      namespace: the.namespace,
      type: 'merge',
      body: { metadata: { labels: { [RESTORE_LABEL]: value } } },
    })
  const holder = async (name: string) => (await the.get.customization(name)).status?.clusterDeploymentRef?.name
  await label('true')
  await the.start({ clock: hurriedClock() })
  // They are looked at one after the other, each of these after the first, in a look of its own.
  for (const name of ['second', 'third']) {
    await leave(name)
    await eventually(async () => expect(await holder(name)).toBeUndefined())
  }
  expect(await holder('first')).toBe('not-yet')
  await label(null)
  await eventually(async () => expect(await holder('first')).toBeUndefined())
})

test('POOL-51: a filled pool notices that its pull secret was deleted, and that it is back', async () => {
  await using the = await poolWorld()
  const metadata = { name: 'pull', namespace: the.namespace, labels: { [COPIED_LABEL]: 'true' } }
  const secret = { metadata, stringData: { '.dockerconfigjson': '{}' } }
  await the.plane.rest('POST', `/api/v1/namespaces/${the.namespace}/secrets`, secret)
  await the.start({ clock: hurriedClock() })
  await the.pool('filled', { pullSecretRef: { name: 'pull' } })
  await eventually(async () => expect((await the.get.pool('filled')).status).toMatchObject({ standby: 1 }))
  const dependencies = async () =>
    findCondition((await the.get.pool('filled')).status?.conditions, 'MissingDependencies')
  await eventually(async () => expect(await dependencies()).toMatchObject({ status: 'False' }))

  await the.api.delete(Secret, 'pull', the.namespace)
  await eventually(
    async () => expect(await dependencies()).toMatchObject({ status: 'True', message: 'pull secret: pull' }),
    LONG,
  )
  expect((await the.get.pool('filled')).status).toMatchObject({ standby: 1 })
  await the.plane.rest('POST', `/api/v1/namespaces/${the.namespace}/secrets`, secret)
  await eventually(async () => expect(await dependencies()).toMatchObject({ status: 'False' }), LONG)
})

test('POOL-8: a lease that is written again keeps what was applied to its cluster, though the patches were edited since', async () => {
  await using the = await poolWorld()
  const manager = await the.start()
  await the.customize(['edited'])
  await the.pool('pool', { inventory: ['edited'] })
  await eventually(async () => expect((await the.get.pool('pool')).status).toMatchObject({ standby: 1 }))
  await the.claim('mine', 'pool')
  await eventually(async () => expect((await the.get.claim('mine')).spec.namespace).toBeDefined())
  const { lastAppliedConfiguration: applied, clusterDeploymentRef: cluster } =
    (await the.get.customization('edited')).status ?? {}
  await manager.stop()

  const at = { name: 'edited', namespace: the.namespace, type: 'merge' } as const
  const installConfigPatches = [{ op: 'replace', path: '/metadata/name', value: 'another' }]
  await the.api.patch(ClusterDeploymentCustomization, { ...at, body: { spec: { installConfigPatches } } })
  const lost = { status: { clusterDeploymentRef: null, clusterPoolRef: null } }
  await the.api.patch(ClusterDeploymentCustomization, { ...at, subresource: 'status', body: lost })
  await the.start()
  await eventually(async () =>
    expect((await the.get.customization('edited')).status?.clusterDeploymentRef).toEqual(cluster),
  )
  expect(applied).toContain('"edited"')
  expect((await the.get.customization('edited')).status?.lastAppliedConfiguration).toBe(applied)
})
