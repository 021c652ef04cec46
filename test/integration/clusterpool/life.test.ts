/** The life of a pool on a real API server: filled, claimed, refilled, deleted. */
import { expect, test } from 'vitest'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { LEASE_FINALIZER, POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace } from '#apis/kubernetes.ts'
import { compareText } from '#controllers/clusterpool/model/order.ts'
import { hurriedClock } from '../clusterdeployment/world.ts'
import { eventually, poolWorld } from './world.ts'

const used = (clusters: readonly ClusterDeployment[]) =>
  clusters.map(({ spec }) => spec.clusterPoolRef?.clusterDeploymentCustomization?.name ?? 'none').toSorted(compareText)

test('a pool of three is filled from an inventory of four, a claim is bound, and the pool is refilled when it goes', async () => {
  await using the = await poolWorld()
  const { lines } = await the.start()
  await the.customize(['a', 'b', 'c', 'd'])
  await the.pool('pool', { size: 3, runningCount: 1, inventory: ['a', 'b', 'c', 'd'] })
  await eventually(async () => {
    const { status } = await the.get.pool('pool')
    expect(status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True', reason: 'Filled' })
    expect(status).toMatchObject({ size: 3, ready: 1, standby: 2, claimed: 0, inventorySummary: '4/4' })
  })
  expect(used(await the.clusters('pool'))).toEqual(['a', 'b', 'c'])
  // What goes well is no warning.
  const created = lines.filter((line) => line.includes('"reason":"ClusterCreated"'))
  expect(created.map((line) => line.split(' ', 1)[0])).toEqual(['info', 'info', 'info'])

  await the.claim('mine', 'pool')
  const claimed = await eventually(async () => {
    const claim = await the.get.claim('mine')
    expect(claim.status?.conditions?.find(({ type }) => type === 'ClusterRunning')).toMatchObject({ status: 'True' })
    return claim.spec.namespace ?? ''
  })
  await eventually(async () => {
    expect((await the.get.pool('pool')).status).toMatchObject({ size: 3, ready: 1, standby: 2, claimed: 1 })
  })
  expect(used(await the.clusters('pool'))).toEqual(['a', 'b', 'c', 'd'])

  await the.api.delete(ClusterClaim, 'mine', the.namespace)
  await eventually(async () => {
    expect(await the.api.get(ClusterClaim, 'mine', the.namespace)).toBeUndefined()
    expect(await the.api.get(ClusterDeployment, claimed, claimed)).toBeUndefined()
    expect((await the.get.pool('pool')).status).toMatchObject({ size: 3, ready: 1, standby: 2, claimed: 0 })
  })
  expect(await the.clusters('pool')).toHaveLength(3)

  await the.api.delete(ClusterPool, 'pool', the.namespace)
  await eventually(async () => expect(await the.api.get(ClusterPool, 'pool', the.namespace)).toBeUndefined())
  for (const name of ['a', 'b', 'c', 'd']) {
    const { status, metadata } = await the.get.customization(name)
    expect([name, status?.clusterDeploymentRef, metadata.finalizers]).toEqual([name, undefined, undefined])
  }
})

test('POOL-43: clusters whose pool was removed by force go, and release their leases; a lease of another holder stays', async () => {
  await using the = await poolWorld()
  await the.start({ clock: hurriedClock() })
  await the.customize(['left', 'lost'])
  await the.pool('forced', { size: 2, inventory: ['left', 'lost'] })
  await eventually(async () => expect((await the.get.pool('forced')).status).toMatchObject({ size: 2, standby: 2 }))

  the.installer.slow.add('*')
  await the.api.delete(ClusterPool, 'forced', the.namespace)
  await eventually(async () => {
    const clusters = await the.clusters('forced')
    expect(clusters.map(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([true, true])
  })
  const at = { namespace: the.namespace, type: 'merge' } as const
  await the.api.patch(ClusterPool, { ...at, name: 'forced', body: { metadata: { finalizers: [] } } })
  await eventually(async () => expect(await the.api.get(ClusterPool, 'forced', the.namespace)).toBeUndefined())
  // Its cluster is there: whatever time passes until it is looked at, the lease is its own.
  const stranger = { name: 'stranger', namespace: `${the.namespace}-stranger` }
  const labels = { [POOL_LABELS.uid]: 'of-another' }
  await the.api.create(Namespace, { metadata: { name: stranger.namespace, labels } })
  await the.api.create(ClusterDeployment, {
    metadata: stranger,
    spec: {
      baseDomain: 'example.com',
      clusterName: 'stranger',
      platform: { none: {} },
      installed: false,
      powerState: 'Running',
    },
  })
  const taken = { status: { clusterDeploymentRef: stranger } }
  await the.api.patch(ClusterDeploymentCustomization, { ...at, name: 'lost', subresource: 'status', body: taken })

  the.installer.slow.clear()
  the.installer.wake()
  await eventually(async () => expect(await the.clusters('forced')).toEqual([]))
  const [left, lost] = [await the.get.customization('left'), await the.get.customization('lost')]
  expect([left.status?.clusterDeploymentRef, left.metadata.finalizers]).toEqual([undefined, undefined])
  expect(left.status?.conditions?.find(({ type }) => type === 'Available')?.status).toBe('True')
  expect([lost.status?.clusterDeploymentRef, lost.metadata.finalizers]).toEqual([stranger, [LEASE_FINALIZER]])
})
