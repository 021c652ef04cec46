/**
 * GITOPS-52: managers live within their memory limits under the load of their benches: the shipped program with its manifest's flags,
 * limited as kubelet does it. `npm run test:deep` has what the benches have; every other run a part.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { postgresMissing } from '#hack/postgres/missing.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { freePort } from '#hack/process/ports.ts'
import { pathOf } from '#operator/model/resource.ts'
import { openFleet } from '#test/bench/adapter/fleet.ts'
import { openGround } from '#test/bench/adapter/ground.ts'
import { createFleet } from '#test/bench/api/fleet.ts'
import { onPostgres } from '#test/bench/api/ground.ts'
import { fleetOn } from '#test/bench/fleet/ground.ts'
import { upTo } from '#test/bench/in-parallel.ts'
import { createAlone, installKinds, startClusterDeployments, startPools } from '#test/bench/pool/ground.ts'
import { startMuster } from '#test/bench/program.ts'
import { createShard, installKind, untilPulsed } from '#test/bench/sentinel/config.ts'
import { startApi, startSentinel } from '#test/bench/sentinel/processes.ts'
import { openStage, type Stage } from '#test/bench/stage.ts'
import { isDeep, repetitions } from '#test/harness/deep.ts'
import { copyCluster } from './copies.ts'
import { limitedAs, limitsMissing, skipWithout } from './limited.ts'

const TIMEOUT = isDeep ? 1_800_000 : 300_000

const quiet = () => undefined

let stage: Stage

beforeAll(async () => {
  stage = await openStage(quiet)
})
beforeEach(({ skip }) => skipWithout(limitsMissing(), skip))
afterAll(() => stage?.[Symbol.asyncDispose]())

const RESOURCES = repetitions({ deep: 50_000, slice: 20_000 })
/** That no Sentinel has told of, so that it pulses them all at once. */
const NEW = repetitions({ deep: 20_000, slice: 1_000 })

test('a Sentinel with tens of thousands of resources, of which many are new, and once more after a restart', {
  timeout: TIMEOUT,
}, async ({ skip }) => {
  skipWithout(postgresMissing(), skip)
  const limited = await limitedAs('sentinel')
  await using api = await onPostgres({}, [])
  const clusters = createFleet(api.load, { say: quiet })
  await clusters.growTo(2)
  // The first one has never been reported on.
  await copyCluster(api.client, { of: clusters.at(0).id, name: 'new', count: NEW })
  await copyCluster(api.client, { of: clusters.at(1).id, name: 'reported', count: RESOURCES - NEW })
  await api.vacuum()
  await installKind(stage)
  await createShard(stage, api.server.url, { name: 'large' })
  {
    await using sentinel = await startSentinel(stage, { api: api.server.url, config: 'large', prefix: limited.prefix })
    await untilPulsed(stage, NEW + 1)
    await limited.check(sentinel)
  }
  await using again = await startSentinel(stage, { api: api.server.url, config: 'large', prefix: limited.prefix })
  await sleep(SETTLED_MS)
  await limited.check(again)
  // Of the Sentinel of adapter tasks it is none.
  await stage.server.request('DELETE', pathOf(SentinelConfig, { namespace: 'default', name: 'large' }))
})

/** What a start has read is in the caches, and handled, by then. */
const SETTLED_MS = 5_000

const AT_ONCE = repetitions({ deep: 1_000, slice: 100 })

test('adapter tasks of many clusters that come and go at once', { timeout: TIMEOUT }, async () => {
  const limited = await limitedAs('adapter')
  await using ground = await openGround(stage, limited)
  const clusters = openFleet(ground.api.url)
  try {
    await ground.pulse()
    const { ids } = await clusters.createMany('flat', AT_ONCE)
    await clusters.deleteMany(ids)
    expect(await ground.runs()).toBeGreaterThan(2 * AT_ONCE)
  } finally {
    await clusters.close()
  }
  await limited.check(ground.adapter)
})

const CLUSTER_DEPLOYMENTS = repetitions({ deep: 10_000, slice: 1_000 })
/** Of them; all are in the caches before the first one is. */
const REGISTERED = 100

test('the managers of pools and of ClusterDeployments, which registers them, with thousands of them', {
  timeout: TIMEOUT,
}, async () => {
  const [pools, deployments] = [await limitedAs('clusterpool'), await limitedAs('clusterdeployment')]
  await installKinds(stage)
  await createAlone(stage, CLUSTER_DEPLOYMENTS)
  await using api = await startApi(stage)
  await using ofPools = await startPools(stage, pools)
  await using ofDeployments = await startClusterDeployments(stage, api.url, deployments)
  const registered = async () => {
    const answer = await fetch(`${api.url}/api/hyperfleet/v1/clusters?size=1`)
    return ((await answer.json()) as { readonly total: number }).total
  }
  await expect.poll(registered, { timeout: TIMEOUT, interval: 250 }).toBeGreaterThan(REGISTERED)
  await sleep(SETTLED_MS)
  await pools.check(ofPools)
  await deployments.check(ofDeployments)
})

const FLEET = {
  devices: repetitions({ deep: 10_000, slice: 500 }),
  deployments: repetitions({ deep: 100, slice: 5 }),
}

test('the operator of the fleet while thousands of devices enter and are given their Deployments, and after a restart', {
  timeout: TIMEOUT,
}, async () => {
  const limited = await limitedAs('fleet')
  await using fleet = await fleetOn(stage, FLEET, quiet, limited)
  {
    await using operator = await fleet.operate()
    await fleet.settle(operator)
    await limited.check(operator.process)
  }
  await using again = await fleet.operate()
  await sleep(SETTLED_MS)
  await limited.check(again.process)
})

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
/** What says that a key is a user's. */
const USER = 20 << 3

/** In the form of a NATS user's, of a key without a private half: to make one takes 7 ms. */
const publicKey = (): string => {
  const bytes = [USER, ...randomBytes(32)]
  const checksum = bytes.reduce((sum, byte) => {
    let next = sum ^ (byte << 8)
    for (let bit = 0; bit < 8; bit += 1) next = ((next << 1) ^ (next & 0x8000 ? 0x1021 : 0)) & 0xffff
    return next
  }, 0)
  const bits = [...bytes, checksum & 0xff, checksum >> 8].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[Number.parseInt(five, 2)]).join('')
}

/** As many as a ConfigMap has room for. */
const KEYS = 10_000

test('muster nats with the keys of 10,000 devices', { timeout: TIMEOUT }, async () => {
  const limited = await limitedAs('nats')
  const data = Object.fromEntries(upTo(KEYS).map((n) => [`device-${n}`, publicKey()]))
  await stage.server.request('POST', '/api/v1/namespaces/default/configmaps', {
    metadata: { name: 'nats-devices' },
    data,
  })
  const probe = await freePort()
  await using running = await startMuster({
    args: [
      'nats',
      '--namespace=default',
      `--output=${await temporaryFolder('nats-users')}`,
      '--api-hosts=hyperfleet-api',
      `--health-probe-bind-address=127.0.0.1:${probe}`,
    ],
    url: '',
    probe: `http://127.0.0.1:${probe}/readyz`,
    folder: stage.folder,
    deployedAs: 'nats',
    env: { KUBECONFIG: stage.kubeconfig },
    prefix: limited.prefix,
  })
  // It looks again every five seconds.
  await sleep(2 * SETTLED_MS)
  await limited.check(running)
})
