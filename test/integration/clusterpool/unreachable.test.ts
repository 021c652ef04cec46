/** What a pool does about clusters whose API server does not answer any more, as their ClusterDeployments say it: POOL-64, POOL-68, CLAIM-10. */
import { expect, test } from 'vitest'
import { ClusterDeployment, UNREACHABLE, UNREACHABLE_FOR_LONG } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { eventually, type PoolWorld, poolWorld } from './world.ts'

const report = async (the: PoolWorld, name: string, reason: string): Promise<void> => {
  const lastTransitionTime = new Date().toISOString()
  const conditions = [{ type: UNREACHABLE, status: 'True', reason, message: 'no answer', lastTransitionTime }]
  const at = { name, namespace: name, type: 'merge', subresource: 'status' } as const
  const uid = (await the.api.get(ClusterDeployment, name, name))?.metadata.uid
  const reachability = { uid, silentSeconds: reason === UNREACHABLE_FOR_LONG ? 1_800 : 180 }
  await the.api.patch(ClusterDeployment, { ...at, body: { status: { conditions, reachability } } })
}

const running = (the: PoolWorld, but: readonly string[] = [], pool = 'pool'): Promise<string> =>
  eventually(async () => {
    const found = (await the.clusters(pool)).find(
      ({ metadata, status }) => status?.powerState === 'Running' && !but.includes(metadata.name),
    )
    if (found === undefined) throw new Error('no other cluster runs yet')
    return found.metadata.name
  })

test('POOL-64, CLAIM-10: one that died while it stood by is given to no claim and replaced; one that is claimed stays', async () => {
  await using the = await poolWorld()
  await the.start()
  await the.pool('pool', { runningCount: 1 })
  const dead = await running(the)
  await report(the, dead, 'ErrorConnectingToCluster')
  await eventually(async () => {
    const ready = (await the.get.pool('pool')).status?.conditions?.find(({ type }) => type === 'Ready')
    expect(ready?.message).toContain(`unreachable: ${dead}`)
  })
  await the.claim('mine', 'pool')
  const claimed = await eventually(async () => {
    const { spec } = await the.get.claim('mine')
    if (spec.namespace === undefined) throw new Error('it waits')
    return spec.namespace
  })
  expect(claimed).not.toBe(dead)

  await report(the, claimed, UNREACHABLE_FOR_LONG)
  await report(the, dead, UNREACHABLE_FOR_LONG)
  await eventually(async () => expect(await the.api.get(ClusterDeployment, dead, dead)).toBeUndefined())
  await running(the, [dead, claimed])
  expect((await the.api.get(ClusterDeployment, claimed, claimed))?.metadata.deletionTimestamp).toBeUndefined()
  expect((await the.get.claim('mine')).spec.namespace).toBe(claimed)
})

test('POOL-68: when one cluster of each of many pools dies at once, each pool holds its own, and says why', async () => {
  await using the = await poolWorld()
  await the.start()
  const pools = ['east', 'north', 'west']
  for (const pool of pools) await the.pool(pool, { runningCount: 1 })
  const dead = await Promise.all(pools.map((pool) => running(the, [], pool)))
  // All are silent before one of them is so for long.
  for (const name of dead) await report(the, name, 'ErrorConnectingToCluster')
  for (const name of dead) await report(the, name, UNREACHABLE_FOR_LONG)
  for (const pool of pools)
    await eventually(async () => {
      const held = (await the.get.pool(pool)).status?.conditions?.find(({ type }) => type === 'DeletionsHeld')
      expect(held).toMatchObject({
        status: 'True',
        message: expect.stringContaining('of all pools fell silent at once'),
      })
    })
  for (const name of dead)
    expect((await the.api.get(ClusterDeployment, name, name))?.metadata.deletionTimestamp).toBeUndefined()
})
