/** A pool that is being deleted, and what its clusters and leases wait for. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace } from '#apis/kubernetes.ts'
import { hurriedClock } from '../clusterdeployment/world.ts'
import { clusterOf, delayWatchEvents, eventually, leaveLease, poolWorld } from './world.ts'

test('POOL-38: a deleted pool tries again at most 15 s after a failure, however often that was, and goes', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  const { lines } = await the.start({ server: proxy.server, clock: hurriedClock(30) })
  await the.pool('held')
  await eventually(async () => expect((await the.get.pool('held')).status).toMatchObject({ standby: 1 }))
  proxy.decide(({ method, path }) =>
    method === 'DELETE' && path.includes('/clusterdeployments/') ? { status: 403 } : 'pass',
  )
  await the.api.delete(ClusterPool, 'held', the.namespace)
  const object = `${the.namespace}/held`
  await eventually(() =>
    expect(retriesOf(lines, object)).toEqual(expect.arrayContaining([500, 1_000, 2_000, 4_000, 8_000, 15_000])),
  )
  const seen = retriesOf(lines, object).length
  await eventually(() => expect(retriesOf(lines, object).length).toBeGreaterThan(seen + 1))
  expect(Math.max(...retriesOf(lines, object))).toBe(15_000)
  proxy.decide(() => 'pass')
  await eventually(async () => expect(await the.api.get(ClusterPool, 'held', the.namespace)).toBeUndefined())
  expect(await the.clusters('held')).toEqual([])
})

/** After how many milliseconds an object was to be tried again, each time that its handler failed, by the lines of a log. */
const retriesOf = (lines: readonly string[], key: string): readonly number[] =>
  lines.flatMap((line) => {
    const [, delay] = /^warn handler failed, retrying: .*"delay":(\d+)/.exec(line) ?? []
    return delay !== undefined && line.includes(`"object":"${key}"`) ? [Number(delay)] : []
  })

test('POOL-38: a deleted pool goes within 15 s of the last ClusterDeployment that holds it, though no watch tells of it', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  const clock = hurriedClock(30)
  await the.start({ server: proxy.server, clock })
  await the.customize(['leased'])
  await the.pool('waiting', { size: 0, inventory: ['leased'] })
  await eventually(async () => expect((await the.get.pool('waiting')).status?.conditions).toBeDefined())
  delayWatchEvents(proxy)
  // A cluster that was made by a manager which went: it holds the lease, and its pool sees it by a GET alone.
  const place = `${the.namespace}-unseen`
  await the.api.create(Namespace, { metadata: { name: place, labels: { [POOL_LABELS.uid]: 'of-another' } } })
  await clusterOf(the, 'another', 'unseen', place)
  await leaveLease(the, 'leased', 'waiting', 'unseen', new Date(), place)
  await eventually(async () =>
    expect((await the.get.pool('waiting')).status?.inventory?.leased?.status).not.toBe('Available'),
  )
  await the.api.delete(ClusterPool, 'waiting', the.namespace)
  await eventually(async () =>
    expect((await the.get.pool('waiting')).status?.conditions).toContainEqual(
      expect.objectContaining({ reason: 'Deleting', message: 'what is left: clusters 0, leases 1' }),
    ),
  )
  // Until its own writes, and those of others to the customization, have it look no more.
  await delay(1_000)
  await the.api.delete(ClusterDeployment, 'unseen', place)
  const since = clock.now().getTime()
  await eventually(async () => expect(await the.api.get(ClusterPool, 'waiting', the.namespace)).toBeUndefined())
  // By a clock of which thirty seconds are one: more than half of what a pool waits that has nothing to do is time enough for a busy machine.
  expect(clock.now().getTime() - since).toBeLessThan(200_000)
})
