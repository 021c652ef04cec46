import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLUSTER_FIELD, clusterDeviceName } from '#apis/fleet.nationtech.io/cluster-device.ts'
import { desiredCodec, heartbeatCodec, infoCodec, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { newSigningKey, publicKeysOf, readSigningKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import type { DeploymentSpec } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { Secret } from '#apis/kubernetes.ts'
import { type KubeconfigFile, readKubeconfig } from '#hack/cluster/kubeconfig.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { DeepPartial } from '#operator/index.ts'
import { type Account, accountOf, type MusterProcess, startMuster } from '#test/harness/index.ts'
import { rawHeaders, UNDECODABLE } from '#test/harness/raw-headers.ts'
import { type FleetWorld, fleetWorld, scoreOf } from '../fleet/world.ts'

/** One story, told in order: the cluster is the API server itself, through an account that may only write ConfigMaps of one namespace. */
let fleet: FleetWorld
let account: Account
let remote: string
let manager: MusterProcess
let stateDir: string
/** The keys of the fleet: both halves. */
let keys: string

beforeAll(async () => {
  fleet = await fleetWorld()
  const { plane, namespace } = fleet
  account = await accountOf(plane, 'clusterdevice', namespace)
  remote = await plane.namespace('remote')
  await plane.kubectl('create', 'serviceaccount', 'admin', `--namespace=${remote}`)
  await plane.kubectl('create', 'role', 'admin', '--verb=*', '--resource=configmaps', `--namespace=${remote}`)
  await plane.kubectl(
    'create',
    'rolebinding',
    'admin',
    '--role=admin',
    `--serviceaccount=${remote}:admin`,
    '-n',
    remote,
  )
  stateDir = await temporaryFolder('clusterdevices')
  keys = await temporaryFolder('fleet-keys')
  const signing = newSigningKey()
  await writeFile(join(keys, 'keys.pem'), signing)
  await writeFile(join(keys, 'public.pem'), publicKeysOf(readSigningKeys(signing)))
  await fleet.operator({ signingKeys: join(keys, 'keys.pem') })
  manager = await startManager()
})
afterAll(async () => {
  await manager.stop()
  await fleet[Symbol.asyncDispose]()
})

const startManager = async ({ namespace, nats }: FleetWorld = fleet, as = account): Promise<MusterProcess> =>
  startMuster([
    'manager',
    '--controllers=clusterdevice',
    `--namespace=${namespace}`,
    `--kubeconfig=${await as.kubeconfig()}`,
    `--nats-url=${nats.url}`,
    '--cluster-device-labels=world,device.example/',
    `--cluster-device-state-dir=${stateDir}`,
    `--fleet-public-keys=${join(keys, 'public.pem')}`,
    '--metrics-bind-address=0',
    '--health-probe-bind-address=0',
    '--dashboard-bind=',
  ])

/** As a pool's: its namespace has its name. */
const cluster = () => fleet.namespace

const say = (isReady: boolean, powerState = 'Running') =>
  fleet.kube.patch(ClusterDeployment, {
    name: cluster(),
    namespace: fleet.namespace,
    subresource: 'status',
    type: 'merge',
    body: {
      status: {
        powerState,
        conditions: [
          {
            type: 'Ready',
            status: isReady ? 'True' : 'False',
            reason: 'Said',
            message: '',
            lastTransitionTime: new Date().toISOString(),
          },
        ],
      },
    },
  })

const makeCluster = () =>
  fleet.kube.create(ClusterDeployment, {
    metadata: {
      name: cluster(),
      namespace: fleet.namespace,
      labels: {
        'fleet.nationtech.io/device': 'true',
        world: fleet.namespace,
        'device.example/ring': 'one',
        secret: 'x',
      },
    },
    spec: {
      baseDomain: 'example.com',
      clusterName: 'dallas',
      platform: { baremetal: {} },
      clusterMetadata: { adminKubeconfigSecretRef: { name: 'admin' } },
    } as unknown as ClusterDeployment['spec'],
  })

const device = () => fleet.kube.get(Device, cluster())

const maps = async (): Promise<Readonly<Record<string, string>>> => {
  const { items } = await fleet.plane.rest<{
    items: readonly { readonly metadata: { readonly name: string }; readonly data?: { readonly x?: string } }[]
  }>('GET', `/api/v1/namespaces/${remote}/configmaps`)
  const own = items.filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')
  return Object.fromEntries(own.map(({ metadata, data }) => [metadata.name, data?.x ?? '']))
}

const configMaps = (data: Readonly<Record<string, string>>, namespace = remote) =>
  ({
    type: 'KubernetesManifests',
    data: {
      manifests: Object.entries(data).map(([name, x]) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace },
        data: { x },
      })),
    },
  }) as unknown as DeploymentSpec['score']

const untilFailed = (name: string, why: RegExp) =>
  fleet.until(async () => {
    const { status } = (await fleet.deployment(name)) ?? {}
    expect(status?.aggregate).toMatchObject({ matched: 1, failed: 1 })
    expect(status?.aggregate?.lastError).toMatch(why)
  })

// AGENT-20, AGENT-24
test('a cluster that is Ready, runs and asks for it becomes a Device with the labels that are allowed', async () => {
  const { kube, namespace } = fleet
  await makeCluster()
  await say(true)
  await manager.line((line) => JSON.stringify(line).includes(`the Secret ${namespace}/admin is not there`))
  const text = await readFile(await fleet.plane.kubeconfigFor('admin', remote), 'utf8')
  await kube.create(Secret, { metadata: { name: 'admin', namespace }, stringData: { kubeconfig: text } })
  await fleet.until(async () => {
    const found = await device()
    expect(found?.metadata.labels).toEqual({
      world: namespace,
      'device.example/ring': 'one',
      'fleet.nationtech.io/cluster-namespace': namespace,
    })
    expect(found?.spec.inventory).toEqual({
      clusterDeployment: `${namespace}/${namespace}`,
      clusterName: 'dallas',
      baseDomain: 'example.com',
    })
    expect(found?.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }))
    expect(found?.status?.conditions).toContainEqual(expect.objectContaining({ reason: 'KeyKnown', status: 'True' }))
  })
})

test('a Deployment of the fleet reaches it', async () => {
  await fleet.deploy('web', { score: configMaps({ a: '1', b: '1' }) } as DeepPartial<DeploymentSpec>)
  await fleet.until(async () => {
    expect((await fleet.deployment('web'))?.status?.aggregate).toMatchObject({ matched: 1, succeeded: 1 })
    expect(await maps()).toEqual({ a: '1', b: '1' })
  })
})

// AGENT-48
test('attack: the operator’s key of NATS has manifests applied to the cluster', async () => {
  const key = `${cluster()}.${fleet.namespace}.planted`
  const owner = { uid: 'planted', created: new Date().toISOString() }
  const planted = desiredCodec.encode({ owner, revision: 1, score: configMaps({ planted: '1' }) }, 1)
  await fleet.bucket('fleet-desired', (kv) => kv.put(key, planted))
  await fleet.until(async () => {
    const state = await fleet.bucket('fleet-state', (kv) => kv.get(key))
    const { payload } = stateCodec.decode(state?.value ?? new Uint8Array())
    expect(payload).toMatchObject({ phase: 'Failed', uid: 'planted', unverified: true })
  })
  expect(await maps()).toEqual({ a: '1', b: '1' })
  // What was refused goes with its key.
  await fleet.bucket('fleet-desired', (kv) => kv.delete(key))
  await fleet.until(async () => expect((await fleet.bucket('fleet-state', (kv) => kv.get(key)))?.operation).toBe('DEL'))
})

test('what its kubeconfig may not do fails, and so do programs, which have no place there', async () => {
  await fleet.deploy('beyond', { score: configMaps({ c: '1' }, fleet.namespace) } as DeepPartial<DeploymentSpec>)
  await fleet.deploy('program', { score: scoreOf('sleep') })
  await untilFailed('beyond', /ConfigMap.* can't be applied: .*forbidden/)
  await untilFailed('program', /this device is a cluster, not a machine: give it KubernetesManifests/)
})

// AGENT-20
test('a cluster that hibernates has no agent; what changed meanwhile comes when it runs again, after a kill of the manager too', async () => {
  await say(true, 'Hibernating')
  await manager.line('the agent of the cluster has ended')
  manager.signal('SIGKILL')
  await manager.exited
  await fleet.change('web', { spec: { score: configMaps({ b: '2' }) } })
  manager = await startManager()
  await manager.line('caches are filled')
  expect(await maps()).toEqual({ a: '1', b: '1' })
  await say(true)
  await fleet.until(async () => expect(await maps()).toEqual({ b: '2' }))
})

// AGENT-22
test('a kubeconfig that the cluster does not take any more is read again when its Secret is another one', async () => {
  const { kube, namespace } = fleet
  const keep = (config: KubeconfigFile) =>
    kube.patch(Secret, {
      name: 'admin',
      namespace,
      type: 'merge',
      body: { stringData: { kubeconfig: JSON.stringify(config) } },
    })
  const good = await readKubeconfig(await fleet.plane.kubeconfigFor('admin', remote))
  await say(true, 'Hibernating')
  await manager.line('the agent of the cluster has ended')
  await keep({ ...good, users: good.users.map(({ name }) => ({ name, user: { token: 'revoked' } })) })
  await say(true)
  await fleet.change('web', { spec: { score: configMaps({ b: '3' }) } })
  await untilFailed('web', /can't be applied: Unauthorized/)
  await keep(good)
  await fleet.until(async () => expect(await maps()).toEqual({ b: '3' }))
})

// AGENT-23
// NATS-11
test('with the ClusterDeployment go the Device and all that it said, also what can’t be decoded', async () => {
  const connection = await connect({ servers: fleet.nats.url })
  for (const [n, head] of UNDECODABLE.entries())
    connection.publish(`$KV.fleet-state.${cluster()}.shop.odd-${n}`, '', { headers: rawHeaders(head) })
  for (const bucket of ['heartbeat', 'info'])
    connection.publish(`$KV.fleet-${bucket}.${cluster()}`, '', { headers: rawHeaders(UNDECODABLE[0]) })
  await connection.drain()
  await fleet.kube.delete(ClusterDeployment, cluster(), fleet.namespace)
  await fleet.until(async () => {
    expect(await fleet.kube.get(ClusterDeployment, cluster(), fleet.namespace)).toBeUndefined()
    expect(await device()).toBeUndefined()
    for (const bucket of ['fleet-info', 'fleet-heartbeat', 'fleet-state', 'fleet-desired'] as const)
      expect(await fleet.texts(bucket)).toEqual({})
  })
})

// AGENT-29
test('a ClusterDeployment with the name of a machine gets no agent, and takes nothing of the machine when it goes', async () => {
  const { kube, namespace, bucket } = fleet
  const name = cluster()
  const info = { labels: { world: namespace }, inventory: { arch: 'arm64' }, agentVersion: '1' }
  await bucket('fleet-info', (kv) => kv.put(name, infoCodec.encode(info, 0)))
  await bucket('fleet-heartbeat', (kv) =>
    kv.put(name, heartbeatCodec.encode({ boot: 'b', at: '2026-01-01T00:00:00Z' }, 0)),
  )
  await fleet.until(async () => expect((await device())?.status).toBeDefined())
  const { uid } = (await device())?.metadata ?? {}
  const said = await fleet.texts('fleet-info')
  await makeCluster()
  await say(true)
  await manager.line((line) => JSON.stringify(line).includes(`another device ${name}, which is not this cluster`))
  await kube.delete(ClusterDeployment, name, namespace)
  await fleet.until(async () => expect(await kube.get(ClusterDeployment, name, namespace)).toBeUndefined())
  const { metadata } = (await device()) ?? {}
  expect({ uid: metadata?.uid, deleted: metadata?.deletionTimestamp }).toEqual({ uid, deleted: undefined })
  expect(await fleet.texts('fleet-info')).toEqual(said)
  expect(Object.keys(await fleet.texts('fleet-heartbeat'))).toEqual([name])
})

describe('beside an operator that has ended', () => {
  /** A ClusterDeployment that asked for a Device, and has no agent. */
  const withoutAgent = async () => {
    const world = await fleetWorld()
    const { kube, namespace, plane, until, bucket } = world
    const operator = await world.operator()
    await until(async () => expect(await world.texts('fleet-info')).toEqual({}))
    await operator.stop()
    const running = await startManager(world, await accountOf(plane, 'clusterdevice', namespace))
    const name = `late-${namespace}`
    await kube.create(ClusterDeployment, {
      metadata: { name, namespace, labels: { 'fleet.nationtech.io/device': 'true' } },
      spec: { clusterName: name, baseDomain: 'example.com', platform: { baremetal: {} } },
    })
    const cluster = () => kube.get(ClusterDeployment, name, namespace)
    await until(async () => expect((await cluster())?.metadata.finalizers).toHaveLength(1))
    const device = clusterDeviceName({ namespace, name })
    return {
      device,
      inventory: { [CLUSTER_FIELD]: `${namespace}/${name}` },
      report: (inventory: Readonly<Record<string, string>>) =>
        bucket('fleet-info', (kv) => kv.put(device, infoCodec.encode({ labels: {}, inventory, agentVersion: '1' }, 0))),
      makeDevice: (inventory: Readonly<Record<string, string>>) =>
        kube.create(Device, { metadata: { name: device }, spec: { inventory } }),
      delete: () => kube.delete(ClusterDeployment, name, namespace),
      untilGone: () => until(async () => expect(await cluster()).toBeUndefined()),
      world,
      async [Symbol.asyncDispose]() {
        await running[Symbol.asyncDispose]()
        await world[Symbol.asyncDispose]()
      },
    }
  }

  test('AGENT-23: a Device that is written by reports which were read before they were deleted goes too', async () => {
    await using one = await withoutAgent()
    await one.report(one.inventory)
    await one.delete()
    await one.world.until(async () => expect(await one.world.texts('fleet-info')).toEqual({}))
    await one.makeDevice(one.inventory)
    await one.untilGone()
    expect(await one.world.kube.get(Device, one.device)).toBeUndefined()
  })

  test('AGENT-23: a Device that another has reported since stays, although it does not say so yet', async () => {
    await using one = await withoutAgent()
    const { metadata } = await one.makeDevice(one.inventory)
    await one.report({ arch: 'arm64' })
    const reported = await one.world.texts('fleet-info')
    await one.delete()
    await one.untilGone()
    expect((await one.world.kube.get(Device, one.device))?.metadata.uid).toBe(metadata.uid)
    expect(await one.world.texts('fleet-info')).toEqual(reported)
  })
})

test('where NATS has no buckets of the fleet, never had or has no more, a ClusterDeployment goes: nothing was said there', async () => {
  await using bare = await fleetWorld()
  const { kube, namespace, plane, until } = bare
  await using _ = await startManager(bare, await accountOf(plane, 'clusterdevice', namespace))
  const name = 'unheard'
  await kube.create(ClusterDeployment, {
    metadata: { name, namespace, labels: { 'fleet.nationtech.io/device': 'true' } },
    spec: { clusterName: name, baseDomain: 'example.com', platform: { baremetal: {} } },
  })
  await until(async () =>
    expect((await kube.get(ClusterDeployment, name, namespace))?.metadata.finalizers).toHaveLength(1),
  )
  await kube.delete(ClusterDeployment, name, namespace)
  await until(async () => expect(await kube.get(ClusterDeployment, name, namespace)).toBeUndefined())
})
