/**
 * POOL-48, with the real bridge, the real HyperFleet API and an API server: the deadline of a pool goes by what the controller of
 * ClusterDeployments has watched, not by the time that passes.
 */
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { clusterDeployment } from '#controllers/clusterdeployment/index.ts'
import { clusterPool } from '#controllers/clusterpool/index.ts'
import { createApi } from '#operator/client/api.ts'
import { type Clock, type Controller, type KubeObject, operator, systemClock } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { start as startHyperFleet } from '#services/hyperfleet-api/start.ts'
import { startControlPlane } from '#test/harness/index.ts'
import { eventually } from './world.ts'

const MINUTE = 60_000

test('an absence of the controller of ClusterDeployments uses no deadline up, and time in which it watches does', {
  timeout: 180_000,
}, async () => {
  await using stack = new AsyncDisposableStack()
  const plane = stack.adopt(await startControlPlane(), (one) => one.stop())
  const transport = stack.adopt(await plane.transport(), (one) => one.close())
  const api = createApi(transport)
  const hyperfleet = stack.adopt(
    await startHyperFleet({
      listen: { host: '127.0.0.1', port: 0 },
      clock: systemClock,
      log: silent,
      entities: [{ kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'] }],
    }),
    (one) => one.stop(),
  )
  let passed = 0
  const clock: Clock = { ...systemClock, now: () => new Date(Date.now() + passed) }
  const run = async (controller: Controller<KubeObject>): Promise<() => Promise<void>> => {
    const settings = { watching: { inactivityTimeout: '10h' } } as const
    const manager = operator({ controllers: [controller], transport, clock, log: silent, settings })
    const ended = manager.start()
    let isStopped = false
    const stop = async () => {
      if (isStopped) return
      isStopped = true
      await manager.stop()
      await ended
    }
    stack.defer(stop)
    await manager.ready
    return stop
  }
  const bridge = () => {
    const registry = new Registry()
    return run(clusterDeployment({ clock, registry, version: 'test', hyperfleetApiUrl: hyperfleet.url }))
  }

  const namespace = await plane.namespace('deadline')
  await run(clusterPool({ clock, registry: new Registry() }))
  const stopBridge = await bridge()
  const metadata = { name: 'pool', namespace }
  const platform = { aws: { region: 'us-east-1' } }
  const imageSetRef = { name: 'openshift-v4.20' }
  await api.create(ClusterPool, {
    metadata,
    spec: { platform, baseDomain: 'example.com', imageSetRef, size: 1, provisionDeadline: '30m' },
  })
  const clusters = async (): Promise<readonly ClusterDeployment[]> => {
    const found: ClusterDeployment[] = []
    for await (const cluster of api.list(ClusterDeployment)) found.push(cluster)
    return found
  }
  const cluster = await eventually(async () => {
    const [one, ...others] = await clusters()
    expect(others).toEqual([])
    expect(one?.status?.hyperfleet?.id).toBeDefined()
    return one as ClusterDeployment
  })
  const present = async () => {
    const found = await api.get(ClusterDeployment, cluster.metadata.name, cluster.metadata.namespace)
    return found?.metadata.deletionTimestamp === undefined ? found : undefined
  }

  await stopBridge()
  passed += 7 * 60 * MINUTE
  // A pass of the pool that knows what time it is.
  const { metadata: changed } = await api.patch(ClusterPool, {
    ...metadata,
    type: 'merge',
    body: { spec: { labels: { looked: 'later' } } },
  })
  await eventually(async () =>
    expect((await api.get(ClusterPool, metadata.name, namespace))?.status?.observedGeneration).toBe(changed.generation),
  )
  expect(await present()).toMatchObject({ metadata: { uid: cluster.metadata.uid } })

  await bridge()
  const watch = async () => (await present())?.status?.installWatch
  const watchedFor = async () => (await watch())?.seconds
  let watched = await eventually(async () => {
    const { seconds, until } = (await watch()) ?? { seconds: 0, until: '' }
    expect(clock.now().getTime() - Date.parse(until)).toBeLessThan(60 * MINUTE)
    return seconds
  })
  // Of seven hours ten minutes at most, and nothing where the controller said first that it does not reach the API (POOL-75).
  expect([0, 600]).toContain(watched)
  let rounds = 0
  for (let isThere = true; isThere; rounds += 1) {
    passed += 5 * MINUTE
    const { name, namespace: its = '' } = cluster.metadata
    const body = { metadata: { annotations: { looked: String(rounds) } } }
    await api.patch(ClusterDeployment, { name, namespace: its, type: 'merge', body })
    const before = watched
    isThere = await eventually(async () => {
      const seconds = await watchedFor()
      if (seconds !== undefined) expect(seconds).toBeGreaterThan(before)
      watched = seconds ?? watched
      // At the deadline it goes as soon as the pool has seen it.
      return seconds !== undefined && seconds <= 1_800
    })
  }
  expect(rounds).toBeGreaterThanOrEqual(4)
  await eventually(async () => expect(await present()).toBeUndefined())
})
