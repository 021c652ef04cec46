import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Deployment, DeploymentStatus } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { KubeObject } from '#operator/index.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { muster } from '#test/integration/cmd/run.ts'
import { declaresRealCluster, inReal, REAL_CLAIM, REAL_POOL, withProvider } from './real-cluster.ts'
import { type Stopwatch, stopwatch } from './times.ts'
import { type Overrides, overridesOf } from './verdicts.ts'
import {
  APPLICATION,
  BEGINNING,
  containersRun,
  declared,
  type GitOpsWorld,
  gitOpsWorld,
  inDeclared,
  inTask,
  NAMESPACE,
  PATIENCE,
  task,
  worldMissing,
} from './world.ts'

const MISSING = await worldMissing()

const POOL = 'pool-edge'
const CLAIM = 'claim-demo'
const GREETER = 'fleet-greeter'
const SHARD = 'shard-us-west'
const TASKS = ['cluster-config', 'cluster-validation'] as const
const HOSTED = { folders: ['hosted'], adapters: ['cluster-hosted', ...TASKS].join(', ') }
const POOL_FILE = 'kustomize/samples/pools/pool.yaml'
const INVENTORY_FILE = 'kustomize/samples/pools/inventory.yaml'
const GREETER_FILE = 'kustomize/samples/fleet/greeter.yaml'

/** Every kind of Muster. */
const KINDS = [
  'sentinelconfigs.hyperfleet.redhat.com',
  'adaptertasks.hyperfleet.redhat.com',
  'clusterpools.hive.openshift.io',
  'clusterclaims.hive.openshift.io',
  'clusterdeployments.hive.openshift.io',
  'clusterdeploymentcustomizations.hive.openshift.io',
  'deployments.fleet.nationtech.io',
  'devices.fleet.nationtech.io',
] as const

/** The devices that kustomize/samples/fleet is for. */
const DEVICES = ['gate-1', 'gate-2', 'gate-3'] as const

/** Where the objects of a kind are in the API server. */
const hive = (plural: string, name: string): string =>
  `/apis/hive.openshift.io/v1/namespaces/${NAMESPACE}/${plural}/${name}`
const taskPath = (name: string): string =>
  `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${NAMESPACE}/adaptertasks/${name}`
const fleetDeployment = (name: string): string =>
  `/apis/fleet.nationtech.io/v1alpha1/namespaces/default/deployments/${name}`

const TIMEOUT = { timeout: 400_000 }

/**
 * From a commit to a claimed cluster and a program on devices, and back to nothing: the examples of kustomize/declared. GITOPS-2, GITOPS-5,
 * GITOPS-6, GITOPS-7, GITOPS-8, GITOPS-21.
 */
describe.skipIf(MISSING !== undefined)(MISSING ?? 'what a commit declares, the suite makes', () => {
  let world: GitOpsWorld
  let overrides: Overrides
  const times: Stopwatch = stopwatch()

  beforeAll(async () => {
    world = await gitOpsWorld()
    overrides = await overridesOf(world)
    await world.install()
    await world.suite({
      managers: ['sentinels', 'adapters', 'pools', 'clusters', 'fleet', ...(containersRun ? ['devices' as const] : [])],
      machines: Object.fromEntries(DEVICES.map((device) => [device, 'example.com/role=greeter'])),
    })
  }, BEGINNING)

  afterAll(async () => {
    console.log(`From a commit, with Git looked at every few seconds:\n${times.table()}`)
    await world?.[Symbol.asyncDispose]()
  })

  const get = <O>(path: string) => world.cluster.rest<O>('GET', path)
  const pool = () => get<ClusterPool>(hive('clusterpools', 'edge'))
  const customization = (name: string) =>
    get<ClusterDeploymentCustomization>(hive('clusterdeploymentcustomizations', name))
  const claim = (name = 'demo') => get<ClusterClaim>(hive('clusterclaims', name))
  const greeter = () => get<Deployment>(fleetDeployment('greeter'))
  /** Of all namespaces. */
  const all = async <O extends KubeObject>(kind: string): Promise<readonly O[]> => {
    const list: { readonly items: readonly O[] } = JSON.parse(
      await world.cluster.kubectl('get', kind, '--all-namespaces', '--output=json'),
    )
    return list.items
  }
  const clusters = () => all<ClusterDeployment>('clusterdeployments.hive.openshift.io')
  const poolIs = (status: object) => expect.poll(async () => (await pool()).status, PATIENCE).toMatchObject(status)

  /** Waits until a commit has come to its end, and remembers how long that took. */
  const follow = (what: string, application: string, commit: string) =>
    times.measure(
      what,
      () => world.applied(declared(application), commit),
      () => world.healthy(declared(application), commit),
    )

  /** Waits until the rollout is so, as the operator says it of the newest spec. */
  const rolloutIs = (is: (status: DeploymentStatus) => boolean): Promise<Deployment> =>
    vi.waitFor(async () => {
      const found = await greeter()
      const { metadata, status } = found
      if (status === undefined || status.observedGeneration !== metadata.generation || !is(status))
        throw new Error(`the rollout is ${JSON.stringify(status)} of generation ${metadata.generation}`)
      return found
    }, PATIENCE)

  // SECURITY-1
  test(
    'of the install that Argo CD has made, muster security check reports the developer of dev, and nothing else',
    TIMEOUT,
    async () => {
      const { code, output } = await muster(['security', 'check', `--kubeconfig=${world.cluster.kubeconfig}`])
      expect(output).toMatch(/hyperfleet-developer has the role admin[^\n]+\n\d+ checks made, 1 found, 0 not made$/)
      expect(code).toBe(1)
    },
  )

  // Journey 2
  test('a commit that adds tasks with their accounts and rights: they are Ready, and Healthy', TIMEOUT, async () => {
    const commit = await world.declareTasks('Two tasks', ...TASKS)
    for (const name of TASKS) {
      await world.healthy(task(name), commit)
      expect(findCondition((await get<AdapterTask>(taskPath(name))).status?.conditions, 'Ready')?.status).toBe('True')
    }
  })

  test('a commit that adds a shard and a pool: the pool is filled, Ready, and Healthy', TIMEOUT, async () => {
    const commit = await world.declare('Add a shard and a pool', SHARD, POOL)
    await follow('a pool of three is added', POOL, commit)
    await world.healthy(declared(SHARD), commit)
    expect((await pool()).status).toMatchObject({ size: 3, ready: 3 })
    const leased = (await clusters()).map(({ spec }) => spec.clusterPoolRef?.clusterDeploymentCustomization?.name)
    expect(new Set(leased)).toEqual(new Set(['dallas', 'denver', 'detroit']))
  })

  test('a commit that adds to its inventory', TIMEOUT, async () => {
    const before = namesOf(await clusters())
    const entry = (await world.git.read(INVENTORY_FILE)).split('---')[0]?.replaceAll('dallas', 'durham') ?? ''
    const commit = await world.git.commit('A fifth name', {
      [INVENTORY_FILE]: `${await world.git.read(INVENTORY_FILE)}---\n${entry.slice(entry.indexOf('apiVersion'))}`,
      [POOL_FILE]: `${await world.git.read(POOL_FILE)}      - name: durham\n`,
    })
    await follow('its inventory has one more', POOL, commit)
    await poolIs({ inventory: { durham: { status: 'Available' } } })
    expect(namesOf(await clusters())).toEqual(before)
  })

  test('a commit that changes its size, and a revert', TIMEOUT, async () => {
    const before = namesOf(await clusters())
    const commit = await world.edit('One more', POOL_FILE, /size: 3\n.*: 3/, 'size: 4\n  runningCount: 4')
    await follow('its size is changed from 3 to 4', POOL, commit)
    expect((await pool()).status).toMatchObject({ size: 4, ready: 4 })
    expect(namesOf(await clusters())).toEqual(expect.arrayContaining([...before]))
    await follow('that is reverted', POOL, await world.git.revert())
    expect((await pool()).status).toMatchObject({ size: 3, ready: 3 })
  })

  test('what a person changes or deletes by hand is put back, and no cluster is lost by it', TIMEOUT, async () => {
    const before = namesOf(await clusters())
    const { metadata } = await customization('durham')
    await world.cluster.rest('DELETE', hive('clusterdeploymentcustomizations', 'durham'))
    await world.cluster.rest('PATCH', hive('clusterpools', 'edge'), { spec: { maxSize: 9 } })
    await expect.poll(async () => (await pool()).spec.maxSize, PATIENCE).toBe(4)
    await expect.poll(() => uidOf(customization('durham')), PATIENCE).not.toBe(metadata.uid)
    await world.healthy(declared(POOL), await world.git.head())
    expect(namesOf(await clusters())).toEqual(before)
  })

  test('a bad commit is Degraded with words that say what to write, and the clusters stay', TIMEOUT, async () => {
    const before = namesOf(await clusters())
    await world.edit('Mistype', INVENTORY_FILE, / {6}value: durham\n/, '')
    await expect.poll(async () => (await world.application(declared(POOL)))?.health?.status, PATIENCE).toBe('Degraded')
    expect(await overrides.health(await customization('durham'))).toMatchObject({
      status: 'Degraded',
      message: expect.stringMatching(/^durham: .*operation 0 .*: replace needs a value/),
    })
    await follow('a mistake is reverted', POOL, await world.git.revert())
    expect(namesOf(await clusters())).toEqual(before)
  })

  test('a commit that claims: the claim gets a cluster, and the pool makes another', TIMEOUT, async () => {
    await follow('a cluster is claimed', CLAIM, await world.declare('Claim a cluster', CLAIM))
    const { spec, status } = await claim()
    expect(findCondition(status?.conditions, 'Ready')).toMatchObject({ status: 'True', reason: 'Running' })
    const claimed = (await clusters()).filter(({ spec: { clusterPoolRef } }) => clusterPoolRef?.claimName === 'demo')
    expect(claimed.map(({ metadata }) => metadata.namespace)).toEqual([spec.namespace])
    await poolIs({ size: 3, ready: 3, claimed: 1 })
    await world.healthy(declared(POOL), await world.git.head())
  })

  test.runIf(containersRun)(
    'GITOPS-36: a commit that adds the provider of real clusters, and one that declares a pool of it, a claim and a rollout: the kubeconfig of the claim works, and shows what the fleet rolled out',
    TIMEOUT,
    async () => {
      await world.healthy(APPLICATION, await world.git.commit('Real clusters', await withProvider(world.git, HOSTED)))
      await follow(
        'a control plane as pods is declared, and claimed',
        REAL_CLAIM,
        await world.git.commit('A pool of them, and a claim', await declaresRealCluster(world.git)),
      )
      const { namespace = '' } = (await claim('real')).spec
      const team = () => get<Deployment>(`/apis/fleet.nationtech.io/v1alpha1/namespaces/${NAMESPACE}/deployments/team`)
      await expect.poll(async () => (await team()).status?.aggregate, PATIENCE).toMatchObject({ succeeded: 1 })
      const welcome = ['get', 'configmap', 'welcome', '--namespace=team', '--output=jsonpath={.data.from}']
      expect(await inReal(world.cluster.kubeconfig, namespace, ...welcome)).toBe('the fleet')
      await world.healthy(declared(REAL_POOL), await world.git.head())
    },
  )

  test('a commit that rolls out a program: to one device first, then to the others', TIMEOUT, async () => {
    await follow('a program for three devices, in two batches', GREETER, await world.declare('Greet', GREETER))
    expect((await greeter()).status?.aggregate).toMatchObject({ matched: DEVICES.length, succeeded: DEVICES.length })
  })

  test('kubectl wait --for=condition=Ready comes back for every kind', TIMEOUT, async () => {
    for (const kind of KINDS)
      await world.cluster.kubectl('wait', kind, '--all', '--all-namespaces', '--for=condition=Ready', '--timeout=120s')
  })

  test('Argo CD’s own program says Healthy of every object that is Ready', TIMEOUT, async () => {
    for (const kind of KINDS) {
      const [object] = await all(kind)
      if (object === undefined) throw new Error(`there is no object of ${kind}`)
      expect(await overrides.health(object)).toMatchObject({ status: 'Healthy' })
    }
  })

  test('a rollout that a person pauses stays where it is, whatever is committed', TIMEOUT, async () => {
    const path = fleetDeployment('greeter')
    const runs = (await greeter()).status?.revision
    await overrides.act('pause', path)
    await world.applied(declared(GREETER), await world.edit('Greet otherwise', GREETER_FILE, 'Hello', 'Good day'))
    const paused = await rolloutIs(({ rollout }) => rollout?.phase === 'Paused' && rollout.revision !== runs)
    expect(paused.status?.aggregate).toMatchObject({ updated: 0 })
    expect(await overrides.health(paused)).toMatchObject({ status: 'Suspended' })
    const health = async () => (await world.application(declared(GREETER)))?.health?.status
    await expect.poll(health, PATIENCE).toBe('Suspended')
    await overrides.act('unpause', path)
    await rolloutIs(({ aggregate }) => aggregate?.updated === DEVICES.length)
    await world.healthy(declared(GREETER), await world.git.head())
  })

  test('a rollout that needs approval waits for it', TIMEOUT, async () => {
    const greeting = (await world.git.read(GREETER_FILE)).trimEnd().replace('Good day', 'Welcome')
    const commit = await world.git.commit('Greet when we say so', {
      [GREETER_FILE]: `${greeting}\n    approval: Manual\n`,
    })
    await world.applied(declared(GREETER), commit)
    const waiting = await rolloutIs(({ rollout }) => rollout?.phase === 'Waiting')
    expect(waiting.status?.aggregate).toMatchObject({ updated: 1 })
    expect(await overrides.health(waiting)).toMatchObject({
      status: 'Suspended',
      message: waiting.status?.rollout?.message,
    })
    await overrides.act('approve-batch', fleetDeployment('greeter'))
    await rolloutIs(({ aggregate }) => aggregate?.updated === DEVICES.length)
    await world.healthy(declared(GREETER), commit)
  })

  test('a rollout that failures stop is Degraded, and goes on when a person says so', TIMEOUT, async () => {
    const path = fleetDeployment('greeter')
    await world.edit('Greet and fall silent', GREETER_FILE, 'sleep 2; done', 'exit 3; done')
    const stopped = await rolloutIs(({ rollout }) => rollout?.phase === 'Suspended')
    // With the ways on, which only the condition has.
    expect(await overrides.health(stopped)).toMatchObject({
      status: 'Degraded',
      message: expect.stringMatching(/: correct the spec, .*go on in spite of it by another value of the annotation /),
    })
    expect((await overrides.health(stopped)).message).toContain(stopped.status?.rollout?.message)
    await overrides.act('resume', path)
    await rolloutIs(({ rollout }) => rollout?.batch === 2)
    await world.git.revert()
    const failed = stopped.status?.rollout?.revision ?? 0
    await rolloutIs(({ rollout }) => rollout?.phase === 'Waiting' && rollout.revision > failed)
    await overrides.act('approve-batch', path)
    await world.healthy(declared(GREETER), await world.git.head())
  })

  test('a task that a person suspends says so, and goes on', TIMEOUT, async () => {
    const path = taskPath('cluster-config')
    const verdict = async () => (await overrides.health(await get<KubeObject>(path))).status
    await overrides.act('suspend', path)
    await expect.poll(verdict, PATIENCE).toBe('Suspended')
    await overrides.act('resume', path)
    await expect.poll(verdict, PATIENCE).toBe('Healthy')
  })

  test('a cluster that a person has replaced goes, and the pool makes another', TIMEOUT, async () => {
    const [one] = (await clusters()).filter(({ spec }) => spec.clusterPoolRef?.claimName === undefined)
    const { name = '', namespace = '' } = one?.metadata ?? {}
    await overrides.act('replace', `/apis/hive.openshift.io/v1/namespaces/${namespace}/clusterdeployments/${name}`)
    await expect.poll(async () => namesOf(await clusters()), PATIENCE).not.toContain(name)
    await poolIs({ size: 3, ready: 3, claimed: 1 })
  })

  test('removed from Git, all of it goes, in order, and nothing is left behind', TIMEOUT, async () => {
    const without = (...names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [inDeclared(name, 'kustomization.yaml'), undefined]))
    const applications = (...names: readonly string[]) =>
      Promise.all(names.map((name) => world.application(declared(name))))
    const folders = [POOL, CLAIM, GREETER, ...(containersRun ? [REAL_POOL, REAL_CLAIM] : [])]
    const ofReal = containersRun ? Object.keys(await declaresRealCluster(world.git)) : []
    const gone = Object.fromEntries(ofReal.map((path) => [path, undefined]))
    await world.git.commit('None of it', { ...without(POOL, CLAIM, GREETER), ...gone })
    await expect.poll(() => applications(...folders), PATIENCE).toEqual(folders.map(() => undefined))
    for (const kind of KINDS.filter((one) => one.includes('hive') || one.startsWith('deployments')))
      expect([kind, namesOf(await all(kind))]).toEqual([kind, []])
    const ofHosted = ['--all-namespaces', '--selector=hosted-cluster', '--output=name'] as const
    await expect.poll(() => world.cluster.kubectl('get', 'pods,persistentvolumeclaims', ...ofHosted), PATIENCE).toBe('')
    const ofPool = ['--selector=fleet.nationtech.io/cluster-pool', '--output=name'] as const
    await expect.poll(() => world.cluster.kubectl('get', 'devices', ...ofPool), PATIENCE).toBe('')
    // Its Sentinel told the adapters to clean up, so it goes after them.
    await world.git.commit('And no shard', without(SHARD))
    await expect.poll(() => applications(SHARD), PATIENCE).toEqual([undefined])
    await world.git.commit(
      'And no task',
      Object.fromEntries(TASKS.map((name) => [inTask(name, 'kustomization.yaml'), undefined])),
    )
    for (const name of TASKS) await expect.poll(() => world.application(task(name)), PATIENCE).toBeUndefined()
    // A provider's is the overlay's.
    const left = containersRun ? ['cluster-hosted'] : []
    expect(namesOf(await all('adaptertasks.hyperfleet.redhat.com'))).toEqual(left)
    expect(namesOf(await all('serviceaccounts'))).not.toContain('cluster-config')
  })
})

const namesOf = (objects: readonly KubeObject[]): readonly string[] =>
  objects.map(({ metadata }) => metadata.name).toSorted()

const uidOf = (object: Promise<KubeObject>): Promise<string | undefined> =>
  object.then(
    ({ metadata }) => metadata.uid,
    () => undefined,
  )
