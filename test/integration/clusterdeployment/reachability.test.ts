/** Real API servers as the clusters: which kubeconfig a ClusterDeployment names, and whether it is known that it works. CLUSTER-18 to CLUSTER-21. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminKubeconfigName } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import {
  type ClusterDeployment,
  type ClusterDeploymentSpec,
  UNREACHABLE,
} from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { RESOURCE_LABEL } from '#apis/hyperfleet.redhat.com/applied-objects.ts'
import { Secret } from '#apis/kubernetes.ts'
import { readKubeconfig } from '#hack/cluster/kubeconfig.ts'
import type { DeepPartial } from '#operator/index.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { hurriedClock, type Manager, type World, world } from './world.ts'

/** Two minutes pass in a second. */
const PACE = 120

let the: World
let cluster: OwnControlPlane
let manager: Manager

beforeAll(async () => {
  const parts = ['etcd', 'kube-apiserver'] as const
  ;[the, cluster] = await Promise.all([world(), startControlPlane({ parts, crds: false })])
  manager = await the.manager({ clock: hurriedClock(PACE) })
})

afterAll(async () => {
  await the?.[Symbol.asyncDispose]()
  await cluster?.stop()
})

/** Of the cluster's own admin, with something else in the place of what is given. */
const kubeconfig = async (entry: object = {}, user?: object, path = cluster.kubeconfig): Promise<string> => {
  const config = await readKubeconfig(path)
  return JSON.stringify({
    ...config,
    clusters: config.clusters.map((one) => ({ ...one, cluster: { ...one.cluster, ...entry } })),
    users: config.users.map((one) => ({ ...one, user: user ?? one.user })),
  })
}

const writeSecret = async (name: string, text: string, labels: Readonly<Record<string, string>> = {}) => {
  const secret = { metadata: { name, namespace: the.namespace, labels }, stringData: { kubeconfig: text } }
  await the.kube.apply(
    Secret,
    { apiVersion: 'v1', kind: 'Secret', ...secret },
    { fieldManager: 'adapter', force: true },
  )
}

/** Its adapters have installed it. @returns the id of its record */
const install = async (name: string, spec: DeepPartial<ClusterDeploymentSpec> = {}): Promise<string> => {
  const { id } = await the.cluster(await the.declare(name, spec))
  await the.report(id, 'True')
  await the.until(name, 'Provisioned')
  return id
}

const until = (name: string, expected: object): Promise<ClusterDeployment> =>
  the.eventually(async () => {
    const found = await the.get(name)
    expect(findCondition(found?.status?.conditions, UNREACHABLE)).toMatchObject(expected)
    return found as ClusterDeployment
  })

const REACHABLE = { status: 'False', reason: 'ClusterReachable' }

test('CLUSTER-18, CLUSTER-19: the Secret that adapters make becomes the admin kubeconfig, its server the URL', async () => {
  await install('fresh')
  const waiting = await until('fresh', { status: 'Unknown', reason: 'NoKubeconfig' })
  expect(waiting.status?.apiURL).toBeUndefined()
  await the.change('fresh', { spec: { clusterMetadata: { infraID: 'kept' } } })
  await writeSecret('fresh-admin-kubeconfig', await kubeconfig())
  const known = await until('fresh', REACHABLE)
  expect(known.spec.clusterMetadata).toEqual({
    infraID: 'kept',
    adminKubeconfigSecretRef: { name: 'fresh-admin-kubeconfig' },
  })
  expect(known.status?.apiURL).toBe(cluster.server)
  expect(findCondition(known.status?.conditions, 'Ready')).toMatchObject({ status: 'True' })
  const table = await the.plane.kubectl('get', 'cd', 'fresh', '-n', the.namespace)
  expect(table.split('\n')[0]?.split(/ +/)).toContain('API')
  expect(table).toContain(cluster.server)
})

test('CLUSTER-18: a name that is set is left as it is', async () => {
  await writeSecret('chosen', await kubeconfig())
  await writeSecret('named-admin-kubeconfig', await kubeconfig({ server: 'https://elsewhere.example' }))
  await install('named', { clusterMetadata: { adminKubeconfigSecretRef: { name: 'chosen' } } })
  const known = await until('named', REACHABLE)
  expect(adminKubeconfigName(known)).toBe('chosen')
  expect(known.status?.apiURL).toBe(cluster.server)
})

describe('CLUSTER-18: attack: a Secret of the name', () => {
  test.each<[string, Readonly<Record<string, string>>, DeepPartial<ClusterDeploymentSpec>, string]>([
    ['that a pool put there', { [POOL_LABELS.uid]: 'uid-of-pool' }, {}, 'was put there by the pool'],
    ['that is the pull secret', {}, { pullSecretRef: { name: 'NAME' } }, 'is what the cluster is made with'],
    ['of another record', { [RESOURCE_LABEL]: 'another' }, {}, 'was made for cluster another'],
  ])('%s is not named', async (what, labels, spec, why) => {
    const name = what.replaceAll(' ', '-')
    const secret = `${name}-admin-kubeconfig`
    await writeSecret(secret, await kubeconfig(), labels)
    await install(name, JSON.parse(JSON.stringify(spec).replace('NAME', secret)) as DeepPartial<ClusterDeploymentSpec>)
    const message = expect.stringContaining(why)
    const refused = await until(name, { status: 'Unknown', reason: 'KubeconfigUnusable', message })
    expect(adminKubeconfigName(refused)).toBeUndefined()
    expect(refused.status?.apiURL).toBeUndefined()
  })

  test('with a link-local server, or a program to run, is not named', async () => {
    await writeSecret('metadata-admin-kubeconfig', await kubeconfig({ server: 'https://169.254.169.254' }))
    await install('metadata')
    const message = expect.stringContaining('a link-local address')
    const refused = await until('metadata', { status: 'Unknown', reason: 'KubeconfigUnusable', message })
    expect(adminKubeconfigName(refused)).toBeUndefined()
    await writeSecret('metadata-admin-kubeconfig', await kubeconfig({}, { exec: { apiVersion: 'v1', command: 'sh' } }))
    await until('metadata', { reason: 'KubeconfigUnusable', message: expect.stringContaining('has exec') })
  })
})

test('CLUSTER-20: a server that the kubeconfig does not trust, and one that never answered, are not called unreachable', async () => {
  await writeSecret('untrusted-admin-kubeconfig', await kubeconfig({ 'certificate-authority-data': undefined }))
  await install('untrusted')
  await until('untrusted', {
    status: 'Unknown',
    reason: 'NotReachedYet',
    message: expect.stringContaining('certificate'),
  })
  await writeSecret('nowhere-admin-kubeconfig', await kubeconfig({ server: 'https://127.0.0.1:1' }))
  await install('nowhere')
  const found = await until('nowhere', {
    reason: 'NotReachedYet',
    message: expect.stringContaining('connection refused'),
  })
  expect(found.status?.apiURL).toBe('https://127.0.0.1:1')
})

test('CLUSTER-19: a cluster that sleeps is not looked at, and is again when it wakes', async () => {
  await writeSecret('sleeper-admin-kubeconfig', await kubeconfig())
  const id = await install('sleeper')
  await until('sleeper', REACHABLE)
  await the.change('sleeper', { spec: { powerState: 'Hibernating' } })
  await until('sleeper', { status: 'Unknown', reason: 'NotRunning' })
  await the.eventually(async () => expect((await the.call('GET', `/clusters/${id}`))?.generation).toBe(2))
  await the.report(id, 'True')
  await the.eventually(async () => expect((await the.get('sleeper'))?.status?.powerState).toBe('Hibernating'))
  await the.change('sleeper', { spec: { powerState: 'Running' } })
  await the.eventually(async () => expect((await the.call('GET', `/clusters/${id}`))?.generation).toBe(3))
  await the.report(id, 'True')
  await until('sleeper', REACHABLE)
})

test('CLUSTER-20, CLUSTER-21: a cluster whose API server dies is unreachable since then, after a while for long, and no more when it is back', async () => {
  // Without one that answers it would be the manager that reaches nothing.
  await writeSecret('alive-admin-kubeconfig', await kubeconfig({}, undefined, the.plane.kubeconfig))
  await install('alive')
  await until('alive', REACHABLE)
  await writeSecret('mortal-admin-kubeconfig', await kubeconfig())
  const id = await install('mortal')
  await until('mortal', REACHABLE)
  await cluster.kill('kube-apiserver')
  const dead = await until('mortal', { status: 'True', reason: 'ErrorConnectingToCluster' })
  expect(await manager.registry.metrics()).toMatch(/^muster_clusterdeployments\{state="unreachable"\} [1-9]/m)
  const since = findCondition(dead.status?.conditions, UNREACHABLE)?.lastTransitionTime
  expect(findCondition(dead.status?.conditions, 'Ready')).toMatchObject({ status: 'True' })
  const lost = await until('mortal', { status: 'True', reason: 'UnreachableForLong', lastTransitionTime: since })
  expect(lost.metadata.deletionTimestamp).toBeUndefined()
  expect(await the.call('GET', `/clusters/${id}`)).not.toHaveProperty('deleted_time')
  await cluster.restart('kube-apiserver')
  await until('mortal', REACHABLE)
})

test('CLUSTER-20: one that answers is asked every minute, one that does not ever less often, and not less than every five minutes', async () => {
  const clock = hurriedClock(PACE)
  const asked: number[] = []
  let status = 200
  // What says that it can't answer, with a status for which no request is sent a second time.
  await using server = createServer((_, answer) => {
    asked.push(clock.now().getTime())
    answer.writeHead(status).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await writeSecret('asked-admin-kubeconfig', await kubeconfig({ server: url }))
  await install('asked')
  await until('asked', REACHABLE)
  /** Seconds by the manager's clock between so many questions, from now on. */
  const pauses = async (count: number): Promise<readonly number[]> => {
    const seen = asked.length
    await the.eventually(() => expect(asked.length).toBeGreaterThan(seen + count))
    return asked
      .slice(seen, seen + count + 1)
      .flatMap((at, n, all) => (n === 0 ? [] : [(at - (all[n - 1] ?? 0)) / 1_000]))
  }
  // A fifth less, or a fifth more and what a busy machine takes for it, which the clock hurries as well.
  const slack = 60
  for (const pause of await pauses(3)) {
    expect(pause).toBeGreaterThan(45)
    expect(pause).toBeLessThan(72 + slack)
  }
  status = 400
  const [first = 0, ...growing] = (await pauses(9)).slice(-8)
  expect(first).toBeLessThan(5 + slack)
  const [beforeLast = 0, last = 0] = growing.slice(-2)
  for (const pause of [beforeLast, last]) {
    expect(pause).toBeGreaterThan(200)
    expect(pause).toBeLessThan(360 + slack)
  }
  status = 200
  await until('asked', REACHABLE)
  for (const pause of await pauses(2)) expect(pause).toBeLessThan(72 + slack)
})

test('CLUSTER-40, CLUSTER-41: that it is unreachable outlives its Secret and its manager, and how long it was silent counts on', async () => {
  await writeSecret('lively-admin-kubeconfig', await kubeconfig({}, undefined, the.plane.kubeconfig))
  await install('lively')
  await until('lively', REACHABLE)
  await writeSecret('bereft-admin-kubeconfig', await kubeconfig())
  await install('bereft')
  await until('bereft', REACHABLE)
  await cluster.kill('kube-apiserver')
  try {
    const dead = await until('bereft', { status: 'True' })
    const since = findCondition(dead.status?.conditions, UNREACHABLE)?.lastTransitionTime
    const stays = { status: 'True', lastTransitionTime: since }
    await the.plane.kubectl('delete', 'secret', 'bereft-admin-kubeconfig', '-n', the.namespace)
    await until('bereft', { ...stays, message: expect.stringContaining('is not there') })
    await writeSecret('bereft-admin-kubeconfig', await kubeconfig())
    await until('bereft', { ...stays, message: expect.not.stringContaining('is not there') })
    const silent = () => the.get('bereft').then((one) => one?.status?.reachability?.silentSeconds ?? 0)
    await the.eventually(async () => expect(await silent()).toBeGreaterThanOrEqual(300))
    await manager.stop()
    const counted = await silent()
    manager = await the.manager({ clock: hurriedClock(PACE) })
    await the.eventually(async () => expect(await silent()).toBeGreaterThan(counted))
    await until('bereft', { ...stays, reason: 'UnreachableForLong' })
  } finally {
    await cluster.restart('kube-apiserver')
  }
  const back = await until('bereft', REACHABLE)
  expect(back.status?.reachability).toEqual({ uid: back.metadata.uid, silentSeconds: 0 })
})
