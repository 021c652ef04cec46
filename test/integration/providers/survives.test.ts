/**
 * What a pool of real clusters survives, from its ClusterPool to the API servers of the provider `local`, with all managers: each is killed,
 * the provider answers anything or nothing, clusters die, certificates are renewed.
 */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { adminKubeconfigName } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ensureCertificates } from '#hack/local-clusters/certificates.ts'
import type { ClusterView } from '#hack/local-clusters/cluster.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { findCondition } from '#operator/model/conditions.ts'
import {
  type Fate,
  type MusterProcess,
  type ProxiedRequest,
  startControlPlane,
  startMuster,
} from '#test/harness/index.ts'
import { type Front, front } from '../clusterdeployment/front.ts'
import { hurriedClock } from '../clusterdeployment/world.ts'
import { type WholeWorld, wholeWorld } from './whole-world.ts'
import { clientOf, namespacesOf, PATIENCE, type ServiceWorld, serviceWorld, TOKEN } from './world.ts'

vi.setConfig({ testTimeout: 300_000 })

const QUOTA = 3
const HIVE = '/apis/hive.openshift.io/v1'
const POOL = 'survivors'
const DAY_MS = 24 * 3_600_000

let stack: AsyncDisposableStack
let service: ServiceWorld
let before: Front
let world: WholeWorld
/** Files that the provider's task may read. */
let secrets: string

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  service = stack.use(await serviceWorld(QUOTA))
  before = stack.use(await front(service.url))
  const plane = stack.use(await startControlPlane())
  // A process has tasks' accounts elsewhere in the namespaces of an install alone.
  world = stack.use(await wholeWorld({ plane, adapter: 'cluster-local', accountsApart: false, backoffReady: '5s' }))
  secrets = await temporaryFolder('provider')
  await writeFile(join(secrets, 'token'), TOKEN, { mode: 0o600 })
  await world.applyFolder('kustomize/providers/local', (text) =>
    text.replaceAll('http://127.0.0.1:8470', before.url).replaceAll('/var/run/secrets/local-clusters', secrets),
  )
})

afterAll(() => stack?.disposeAsync())

const pool = (spec: object) =>
  world.apply(
    JSON.stringify({
      apiVersion: 'hive.openshift.io/v1',
      kind: 'ClusterPool',
      metadata: { name: POOL, namespace: world.namespace },
      spec: {
        baseDomain: 'example.com',
        platform: { none: {} },
        imageSetRef: { name: 'kubernetes-v1.36' },
        labels: { provider: 'local' },
        ...spec,
      },
    }),
  )
const sizes = (size: number) => pool({ size, runningCount: size })

const get = <T>(path: string) => world.plane.rest<T>('GET', path)
const deployments = async () => (await get<{ items: ClusterDeployment[] }>(`${HIVE}/clusterdeployments`)).items
const deployment = (name: string) => get<ClusterDeployment>(`${HIVE}/namespaces/${name}/clusterdeployments/${name}`)
const condition = async (name: string, type: string) => findCondition((await deployment(name)).status?.conditions, type)
const poolCondition = async (type: string) => {
  const { status } = await get<ClusterDeployment>(`${HIVE}/namespaces/${world.namespace}/clusterpools/${POOL}`)
  return findCondition(status?.conditions, type)
}
const clusters = async () =>
  (await service.call<{ items: readonly ClusterView[] }>('GET', '/clusters')).body.items.map(({ name, uid }) => ({
    name,
    uid,
  }))

/** Names of those that run, once there are so many and no others. */
const untilRunning = (count: number): Promise<readonly string[]> =>
  vi.waitFor(async () => {
    const all = await deployments()
    const running = all.filter(({ status }) => status?.powerState === 'Running')
    expect([all.length, running.length], JSON.stringify(all.map(({ status }) => status))).toEqual([count, count])
    return all.map(({ metadata }) => metadata.name)
  }, PATIENCE)

const secretOf = async (name: string): Promise<string> => {
  const reference = await vi.waitFor(async () => {
    const named = adminKubeconfigName(await deployment(name))
    return named ?? expect.fail('no Secret is named yet')
  }, PATIENCE)
  const path = `/api/v1/namespaces/${name}/secrets/${reference}`
  return (await get<{ data: { kubeconfig: string } }>(path)).data.kubeconfig
}

const record = async (name: string): Promise<string> => (await deployment(name)).status?.hyperfleet?.id ?? ''

const apiServerOf = async (name: string): Promise<{ readonly pid: number; readonly uid: string }> => {
  const { uid } = (await service.call('GET', `/clusters/${await record(name)}`)).body
  return { pid: Number(readFileSync(`${service.folderOf(uid)}/kube-apiserver.pid`, 'utf8')), uid }
}

describe('CLUSTER-71: of each record one cluster is made, and nothing of it stays, whatever the provider answers and whichever process is killed', () => {
  let managers: MusterProcess

  const start = async (): Promise<void> => {
    managers = await startMuster([
      'manager',
      '--controllers=clusterpool,clusterclaim,clusterdeployment,sentinel,adapter',
      `--kubeconfig=${world.plane.kubeconfig}`,
      `--hyperfleet-api-url=${world.url}`,
      `--adapter-files=${secrets}`,
      `--adapter-http-targets=${before.url}`,
      '--metrics-bind-address=0',
      '--health-probe-bind-address=0',
    ])
  }
  beforeAll(start)
  afterAll(async () => {
    await managers?.stop()
    await freeLeases()
  })

  /** What 15 s would do: the next one need not wait for the Leases to run out. */
  const freeLeases = () => world.plane.kubectl('delete', 'leases', '--all', `--namespace=${world.namespace}`)
  const killManagers = async (): Promise<void> => {
    managers.signal('SIGKILL')
    await managers.exited
    await freeLeases()
    await start()
  }
  const killService = async (): Promise<void> => {
    await service.kill()
    await service.start()
  }

  /** The service has done it: then this is done, and the answer never comes. */
  const whenDone = (then: () => Promise<void>): Fate => ({ through: new Transform({ transform: () => void then() }) })

  interface Fault {
    readonly name: string
    meet(): Fate | Promise<Fate>
  }

  /** Of a request that is not done: it is asked for again. */
  const refusals = (): readonly Fault[] => [
    { name: 'managers are killed, and it never comes', meet: () => killManagers().then(() => 'drop') },
    { name: '500', meet: () => ({ status: 500 }) },
    { name: 'the service is killed before it', meet: () => killService().then(() => 'drop') },
    { name: '503', meet: () => ({ status: 503 }) },
  ]
  /** Of one that is done, and not answered. */
  const losses = (): readonly Fault[] => [
    { name: 'no answer in time, though it is done', meet: () => ({ late: new Promise(() => undefined) }) },
    { name: 'the service is killed, though it is done', meet: () => whenDone(killService) },
    { name: 'managers are killed, though it is done', meet: () => whenDone(killManagers) },
    { name: 'its answer is lost', meet: () => 'lose' },
  ]
  const faults = (): readonly Fault[] => [...refusals(), ...losses()]

  /** The requests of this kind meet all of these one after the other, and pass from then on. */
  const meetFaults = (fits: (request: ProxiedRequest) => boolean, these: readonly Fault[]) => {
    const steps = [...these]
    /** Those that are to come. */
    const left = steps.map(({ name }) => name)
    /** By which method each was met. */
    const met = new Map<string, string>()
    before.decide((request) => {
      const step = fits(request) ? steps.shift() : undefined
      if (step === undefined) return 'pass'
      left.shift()
      met.set(step.name, request.method)
      return step.meet()
    })
    return { left, met }
  }

  test('when it is made', async () => {
    const { left, met } = meetFaults(({ method }) => method === 'POST' || method === 'PUT', faults())
    await sizes(1)
    await vi.waitFor(() => expect(left).toEqual([]), { ...PATIENCE, timeout: 200_000 })
    // From the first loss on the cluster is there, so what comes after it is a PUT.
    expect([...met.values()]).toEqual([...refusals().map(() => 'POST'), 'POST', 'PUT', 'PUT', 'PUT'])
    const [name = ''] = await untilRunning(1)
    expect(await clusters()).toMatchObject([{ name: await record(name) }])
    // An API server and a controller manager.
    expect(service.processes(service.folderOf(''))).toHaveLength(2)
    expect(await namespacesOf(await secretOf(name))).toContain('kube-system')
  })

  test('when it is deleted', async () => {
    const [{ uid } = { uid: '' }] = await clusters()
    const { left } = meetFaults(({ method }) => method === 'DELETE', faults())
    await sizes(0)
    await vi.waitFor(async () => expect(await deployments()).toEqual([]), { ...PATIENCE, timeout: 200_000 })
    expect(await clusters()).toEqual([])
    expect(await service.remains(uid)).toEqual({ files: 0, keys: 0, processes: 0 })
    // Once it is done there is nothing to ask for again.
    expect(left.length).toBeLessThan(losses().length)
  })

  test('when three are made at once, and a POST that is done meets each of the other losses: of each record there is one cluster', async () => {
    const { left } = meetFaults(({ method }) => method === 'POST', losses().slice(1))
    await sizes(left.length)
    const names = await untilRunning(3)
    expect(left).toEqual([])
    const records = await Promise.all(names.map(record))
    const made = await clusters()
    expect(made.map(({ name }) => name).toSorted()).toEqual(records.toSorted())
    expect(service.processes(service.folderOf(''))).toHaveLength(2 * names.length)
    for (const name of names) expect(await namespacesOf(await secretOf(name))).toContain('kube-system')
    await sizes(0)
    await vi.waitFor(async () => expect(await deployments()).toEqual([]), PATIENCE)
    expect(await clusters()).toEqual([])
    for (const { uid } of made) expect(await service.remains(uid)).toEqual({ files: 0, keys: 0, processes: 0 })
  })
})

describe('with the time hurried on', () => {
  beforeAll(async () => {
    before.decide(() => 'pass')
    await world.startManagers({ clock: hurriedClock(), adapter: { files: [secrets], httpTargets: [before.url] } })
  })

  const claim = (name: string) =>
    world.apply(
      JSON.stringify({
        apiVersion: 'hive.openshift.io/v1',
        kind: 'ClusterClaim',
        metadata: { name, namespace: world.namespace },
        spec: { clusterPoolName: POOL },
      }),
    )
  const untilClaimed = (name: string): Promise<string> =>
    vi.waitFor(async () => {
      const path = `${HIVE}/namespaces/${world.namespace}/clusterclaims/${name}`
      return (await get<{ spec: { namespace?: string } }>(path)).spec.namespace ?? expect.fail('it waits')
    }, PATIENCE)

  test('CLUSTER-72: beyond the quota the pool says so in the provider’s words, and is filled when there is room', async () => {
    const others = ['other-1', 'other-2']
    for (const name of others) await service.call('POST', '/clusters', { name, power: 'Hibernating' })
    await sizes(2)
    const message = `project test has ${QUOTA} of ${QUOTA} clusters: delete one, or ask for a larger quota`
    await vi.waitFor(
      async () =>
        expect(await poolCondition('CapacityAvailable')).toMatchObject({
          status: 'False',
          reason: 'QuotaExceeded',
          message: expect.stringContaining(message),
        }),
      PATIENCE,
    )
    for (const name of others) await service.call('DELETE', `/clusters/${name}`)
    const running = await untilRunning(2)
    await vi.waitFor(
      async () => expect(await poolCondition('CapacityAvailable')).toMatchObject({ status: 'True' }),
      PATIENCE,
    )
    expect(await clusters()).toHaveLength(2)
    for (const name of running) expect((await deployment(name)).status?.installAttempts ?? 0).toBe(0)
  })

  /** The one that is claimed, and one that stands by. */
  let mine: string
  let standby: string

  test('CLUSTER-73: a cluster that hangs while it stands by is replaced, and nothing of it is left', async () => {
    await sizes(1)
    await untilRunning(1)
    await claim('mine')
    mine = await untilClaimed('mine')
    const all = await untilRunning(2)
    standby = all.find((name) => name !== mine) ?? ''
    for (const name of all) await untilReached(name)
    const dead = await apiServerOf(standby)
    process.kill(dead.pid, 'SIGSTOP')
    await vi.waitFor(
      async () => expect(await condition(standby, 'Unreachable')).toMatchObject({ status: 'True' }),
      PATIENCE,
    )
    await vi.waitFor(async () => {
      const names = (await deployments()).map(({ metadata }) => metadata.name)
      expect(names).toHaveLength(2)
      expect(names).toContain(mine)
      expect(names).not.toContain(standby)
    }, PATIENCE)
    await untilRunning(2)
    expect(await service.remains(dead.uid)).toEqual({ files: 0, keys: 0, processes: 0 })
  })

  const untilReached = (name: string) =>
    vi.waitFor(async () => expect(await condition(name, 'Unreachable')).toMatchObject({ status: 'False' }), PATIENCE)

  test('CLUSTER-73: one that hangs while it is claimed says since when, for however long, and stays', async () => {
    await clientOf(await secretOf(mine)).createNamespacedConfigMap({
      namespace: 'default',
      body: { metadata: { name: 'kept' }, data: { by: 'the claimant' } },
    })
    const { pid } = await apiServerOf(mine)
    process.kill(pid, 'SIGSTOP')
    const since = await vi.waitFor(async () => {
      const said = await condition(mine, 'Unreachable')
      expect(said).toMatchObject({ status: 'True' })
      return said?.lastTransitionTime
    }, PATIENCE)
    await vi.waitFor(
      async () =>
        expect(await condition(mine, 'Unreachable')).toMatchObject({
          status: 'True',
          reason: 'UnreachableForLong',
          lastTransitionTime: since,
        }),
      PATIENCE,
    )
    expect((await deployment(mine)).metadata.deletionTimestamp).toBeUndefined()
    process.kill(pid, 'SIGCONT')
    await untilReached(mine)
    const { data } = await clientOf(await secretOf(mine)).readNamespacedConfigMap({
      name: 'kept',
      namespace: 'default',
    })
    expect(data).toEqual({ by: 'the claimant' })
  })

  const change = (spec: object) =>
    world.plane.rest('PATCH', `${HIVE}/namespaces/${mine}/clusterdeployments/${mine}`, { spec })
  const untilPower = (state: string) =>
    vi.waitFor(async () => expect((await deployment(mine)).status?.powerState).toBe(state), PATIENCE)

  test('CLUSTER-6: one that has run for its hibernateAfter has no process any more, though its claim did nothing; it wakes up with its data', async () => {
    const { uid } = await apiServerOf(mine)
    const others = service.processes(service.folderOf('')).length - service.processes(uid).length
    expect(service.processes(uid)).toHaveLength(2)
    await change({ hibernateAfter: '30m' })
    await untilPower('Hibernating')
    expect((await deployment(mine)).spec.powerState).toBe('Hibernating')
    expect(service.processes(uid)).toEqual([])
    // The one that stands by is its pool's to switch: CLUSTER-6.
    expect(service.processes(service.folderOf(''))).toHaveLength(others)
    await change({ powerState: 'Running', hibernateAfter: null })
    await untilPower('Running')
    expect(service.processes(uid)).toHaveLength(2)
    const kept = { name: 'kept', namespace: 'default' }
    expect((await clientOf(await secretOf(mine)).readNamespacedConfigMap(kept)).data).toEqual({ by: 'the claimant' })
  })

  test('CLUSTER-76: one that is to wake up while its provider gives no answer says so, and so does its claim; then it wakes up', async () => {
    await change({ powerState: 'Hibernating' })
    await untilPower('Hibernating')
    before.decide(() => 'drop')
    await change({ powerState: 'Running' })
    const message = expect.stringMatching(/ClusterLocal: cluster can't be .*: (GET|PATCH) \S+ got no answer/)
    await vi.waitFor(async () => {
      expect(await condition(mine, 'Ready')).toMatchObject({ status: 'False', reason: 'Resuming', message })
      const path = `${HIVE}/namespaces/${world.namespace}/clusterclaims/mine`
      const { status } = await get<ClusterDeployment>(path)
      expect(findCondition(status?.conditions, 'ClusterRunning')).toMatchObject({ status: 'False', message })
    }, PATIENCE)
    before.decide(() => 'pass')
    await untilPower('Running')
    await untilReached(mine)
  })

  test('CLUSTER-74: a kubeconfig whose certificate was renewed comes to the Secret by itself, before the former one ends', async () => {
    const former = await secretOf(mine)
    const { uid } = await apiServerOf(mine)
    // The service does it when a third of their life is left, which thirty days of three hundred are not.
    await ensureCertificates(service.folderOf(uid), 300 * DAY_MS, Date.now())
    // It looks at them once a minute, and when it starts.
    await service.kill()
    await service.start()
    const renewed = await vi.waitFor(async () => {
      const found = await secretOf(mine)
      expect(found).not.toBe(former)
      return found
    }, PATIENCE)
    for (const kubeconfig of [former, renewed]) expect(await namespacesOf(kubeconfig)).toContain('kube-system')
  })

  test('released, nothing is left: processes, folders, keys, Secrets, namespaces and records', async () => {
    const all = await clusters()
    const names = (await deployments()).map(({ metadata }) => metadata.name)
    expect(all).toHaveLength(2)
    await world.plane.kubectl(
      'delete',
      'clusterclaim/mine',
      `clusterpool/${POOL}`,
      `--namespace=${world.namespace}`,
      '--timeout=120s',
    )
    expect(await clusters()).toEqual([])
    for (const { uid } of all) expect(await service.remains(uid)).toEqual({ files: 0, keys: 0, processes: 0 })
    expect((await world.call<{ items: unknown[] }>('GET', '/clusters'))?.items).toEqual([])
    const secrets = await get<{ items: { metadata: { name: string } }[] }>('/api/v1/secrets')
    expect(secrets.items.filter(({ metadata }) => metadata.name.endsWith('-admin-kubeconfig'))).toEqual([])
    for (const name of names)
      expect((await get<{ status: { phase: string } }>(`/api/v1/namespaces/${name}`)).status.phase).toBe('Terminating')
  })
})
