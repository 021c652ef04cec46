/** A pool whose provider has no room, as its ClusterDeployments say it: POOL-70. */
import { expect, test } from 'vitest'
import { ClusterDeployment, QUOTA_EXCEEDED } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { eventually, type PoolWorld, poolWorld } from './world.ts'

const capacityOf = async (the: PoolWorld) => {
  const { metadata, status } = await the.get.pool('pool')
  const { reason, message, observedGeneration } = findCondition(status?.conditions, 'CapacityAvailable') ?? {}
  return { reason, message, isCurrent: observedGeneration === metadata.generation }
}

test('POOL-70: while a cluster waits for a quota the pool says so and makes no further one; when there is room it is filled', async () => {
  await using the = await poolWorld()
  the.installer.slow.add('*')
  await the.start()
  await the.pool('pool', { size: 1, runningCount: 0 })
  const name = await eventually(async () => {
    const [first] = await the.clusters('pool')
    if (first === undefined) throw new Error('no cluster yet')
    return first.metadata.name
  })
  const message = 'Cloud: project has 1 of 1 clusters'
  const said = { type: 'Ready', status: 'False', reason: QUOTA_EXCEEDED, message, lastTransitionTime: new Date() }
  const at = { name, namespace: name, type: 'merge', subresource: 'status' } as const
  await the.api.patch(ClusterDeployment, { ...at, body: { status: { conditions: [said] } } as never })
  await eventually(async () => expect(await capacityOf(the)).toMatchObject({ reason: QUOTA_EXCEEDED, message }))
  await the.change('pool', { size: 3 })
  await eventually(async () =>
    expect(await capacityOf(the)).toEqual({ reason: QUOTA_EXCEEDED, message, isCurrent: true }),
  )
  expect((await the.clusters('pool')).map(({ metadata }) => metadata.name)).toEqual([name])

  the.installer.slow.clear()
  the.installer.wake()
  await eventually(async () => {
    const clusters = await the.clusters('pool')
    expect(clusters.map(({ spec }) => spec.installed)).toEqual([true, true, true])
  })
  expect((await capacityOf(the)).reason).toBe('Available')
})
