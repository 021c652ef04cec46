/** A spec that can't be run although the API server took it: its CRD may be older or laxer than this Sentinel. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { manualClock, type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { type HyperFleetApi, startHyperFleet } from './hyperfleet.ts'
import { type SentinelWorld, sentinelWorld } from './world.ts'

const clock = manualClock()
let plane: OwnControlPlane
let world: SentinelWorld
let api: HyperFleetApi

beforeAll(async () => {
  plane = await startControlPlane({ parts: ['etcd', 'kube-apiserver', 'kube-controller-manager'] })
  const patch = [
    {
      op: 'remove',
      path: '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/pollInterval/x-kubernetes-validations',
    },
  ]
  await plane.kubectl(
    'patch',
    'crd',
    'sentinelconfigs.hyperfleet.redhat.com',
    '--type=json',
    `--patch=${JSON.stringify(patch)}`,
  )
})

beforeEach(async () => {
  api = await startHyperFleet(clock)
  world = await sentinelWorld(plane)
})

afterEach(async () => {
  await world[Symbol.asyncDispose]()
  await api[Symbol.asyncDispose]()
})

afterAll(() => plane?.stop())

// SENTINEL-5
test('an invalid spec keeps the last good one running, says so, and the next good one applies', async () => {
  await world.declare('all', { resourceType: 'clusters', hyperfleetAPI: { url: api.url } })
  const { registry } = await world.start(clock)
  await world.until('all', 'Watching')

  await world.change('all', { pollInterval: 'soon' })
  const { status } = await world.until('all', 'InvalidSpec')
  expect(status?.conditions?.[0]).toMatchObject({
    type: 'Ready',
    status: 'False',
    message:
      'spec.pollInterval: "soon" is not a duration: write a number and a unit, such as 500ms, 10s, 30m or 1h30m; ' +
      'the last good spec keeps running',
  })
  expect(await registry.metrics()).toContain(
    'hyperfleet_sentinel_api_errors_total{shard="all",resource_type="clusters",operation="config_load"} 1',
  )
  // SENTINEL-6: an alert on it must not end while it is so.
  const loadFailures = async () => Number(/config_load"} (\d+)/.exec(await registry.metrics())?.[1])
  await clock.advance('30s')
  await expect.poll(loadFailures).toBe(2)
  await clock.advance('60s')
  await expect.poll(loadFailures).toBe(4)
  await api.create('one-cluster')
  await api.expect('one-cluster New')

  await world.change('all', { pollInterval: '7s' })
  await world.until('all', 'Watching')
})

// SENTINEL-6
test('a SentinelConfig that was never valid pulses nothing and starts once it is corrected', async () => {
  await world.declare('all', {
    resourceType: 'clusters',
    hyperfleetAPI: { url: api.url },
    pollInterval: 'soon' as '5s',
  })
  await world.start(clock)
  const { status } = await world.until('all', 'InvalidSpec')
  expect(status?.conditions?.[0]?.message).toContain('nothing is pulsed until it is corrected')
  await world.change('all', { pollInterval: '5s' })
  await world.until('all', 'Watching')
})

test('SENTINEL-41: --config that names nothing is logged and counted, until it is there', async () => {
  const { registry, lines } = await world.start(clock, { config: 'late' })
  await expect
    .poll(() => registry.metrics())
    .toContain(
      'hyperfleet_sentinel_api_errors_total{shard="missing",resource_type="unknown",operation="config_load"} 1',
    )
  expect(lines.join('\n')).toContain('there is no SentinelConfig late, looking again in 30 s')
  await world.declare('late', { resourceType: 'clusters', hyperfleetAPI: { url: api.url } })
  await world.until('late', 'Watching')
})
