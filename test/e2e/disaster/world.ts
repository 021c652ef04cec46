/** The whole suite at work, its stores that can be put back to an earlier moment, and what people want of it. */
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { layoutOf } from '#hack/cluster/local/layout.ts'
import { NODE } from '#hack/cluster/local/node.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { type ManagerName, type Suite, startSuite } from '#test/harness/suite.ts'
import { type DeclaredPool, manifestsOf } from '#test/worlds/suite/declared.ts'
import { install } from '#test/worlds/suite/installer.ts'
import { KINDS } from '#test/worlds/suite/observer/kinds.ts'
import { clusterOf, nameOf } from '#test/worlds/suite/observer/sights.ts'
import { type Timeline, timelineFrom } from '#test/worlds/suite/timeline.ts'
import { lastStates, MUSTER_KINDS } from '../fire/world.ts'
import { gitOps, yamlOf } from './git-ops.ts'
import { type Instructions, instructionsOf } from './instructions.ts'
import { BRIEF, type Declared, findCondition, isRecordGone, missingFrom } from './invariants.ts'
import { startLoad } from './load.ts'
import { installNodePools, makeNodePools } from './node-pools.ts'
import { type DisasterObserver, startObserver } from './observer.ts'
import type { Working } from './repeat.ts'
import { followReplicas } from './workloads.ts'

export interface DisasterWorld extends AsyncDisposable {
  readonly suite: Suite
  readonly cluster: OwnControlPlane
  readonly observer: DisasterObserver
  readonly timeline: Timeline
  /** Changes what is declared of a pool; what is declared is applied, and what is not is deleted, again and again. */
  declare(pool: DeclaredPool): void
  /** Declares programs for all machines, besides the one that always runs. @param version another one ends those whose names begin so */
  runPrograms(names: readonly string[], version?: number): void
  /** Names of those that are declared. */
  programs(): readonly string[]
  /** What goes on meanwhile: commits to a pool of its own, with claims and rollouts, and to a program of the machines. It rests at first. */
  readonly load: Working
  /** The id that a claim's cluster has in the HyperFleet API. */
  clusterOf(claim: string): string | undefined
  /** So many resources of the HyperFleet API that no object of Kubernetes declares, below the cluster of a claim. */
  makeNodePools(count: number, claim: string): Promise<void>
  /** What is not as it is declared yet. */
  missing(): readonly string[]
  /** Names of ClusterDeployments whose cluster the HyperFleet API has no more. */
  lost(): readonly string[]
  /** A copy of a store as it is now. PostgreSQL's is made by what the page says. */
  backUp(store: 'etcd' | 'nats'): Promise<void>
  /** Puts the last copy back, while everything else goes on; commits come while NATS is away. */
  restoreNats(): Promise<void>
  /** Puts the last copy back; the controllers of Kubernetes itself stay away until `startControllers`. */
  restoreEtcd(): Promise<void>
  startControllers(): Promise<void>
  /** Nothing applies what is declared until `startGitOps`; it is written into the folder of the page instead. */
  stopGitOps(): Promise<void>
  startGitOps(): void
  /** Resolves when the processes rest and work as their Deployments say. */
  scaled(): Promise<void>
  /** Takes all values out of the fleet's buckets. */
  purgeNats(): Promise<void>
  /** Begins NATS with nothing; commits come while it is away. */
  wipeNats(): Promise<void>
  /** The region does not reach NATS any more, and its last heartbeats expire. */
  loseRegion(): Promise<void>
  /** It reaches NATS again. @param skews what its clocks are off by, in milliseconds, by machine */
  regionReturns(skews: Readonly<Record<string, number>>): Promise<void>
  /** `status` of `Ready` of each machine. */
  machinesReady(): Readonly<Record<string, string | undefined>>
  /** So many milliseconds more have passed for the managers, and each looks again at every ClusterDeployment. */
  passTime(milliseconds: number): Promise<void>
  /** What the page has a person do. @param heading of a section */
  instructions(heading: string): Promise<Instructions>
  lastStates(): Promise<string>
}

/** Beside the pools: Deployments of the fleet whose program runs on each machine. */
const KEEPER = 'keeper'
const MACHINES = ['gate-1', 'gate-2', 'gate-3']
/** Machines with a network of their own. */
export const AWAY = ['gate-1', 'gate-2'] as const
const ROLE = 'example.com/role'

/** The program that changes with each commit of the load. */
const BUSY_PROGRAM = `${BRIEF}-busy`

export const disasterWorld = async (): Promise<DisasterWorld> => {
  await using stack = new AsyncDisposableStack()
  const timeline = timelineFrom()
  const parts = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const
  const cluster = stack.use(await startControlPlane({ parts }))
  await cluster.rest('POST', '/api/v1/nodes', NODE)
  const machines = Object.fromEntries(MACHINES.map((name) => [name, `${ROLE}=gate`]))
  const suite = stack.use(await startSuite({ cluster, database: 'postgres', machines, region: AWAY }))
  await install(suite, cluster)
  await installNodePools(suite)
  const backup = await temporaryFolder('backup')

  const pools = new Map<string, DeclaredPool>()
  let own: ReadonlyMap<string, number> = new Map([[KEEPER, 1]])
  let commits = 0
  const programs = () => new Map<string, number>([...own, [BUSY_PROGRAM, commits]])
  const declared = (): Declared => ({ pools, programs: programs() })
  // No other program of this machine has these arguments.
  const commands = { program: `sleep ${10_000_000 + process.pid}`, brief: `sleep ${20_000_000 + process.pid}` }
  const manifests = (): readonly object[] => [
    ...[...pools.values()].flatMap(manifestsOf),
    ...[...programs()].map(([name, version]) =>
      programFor(name, name.startsWith(BRIEF) ? `${commands.brief}.${version}` : commands.program),
    ),
  ]
  const load = startLoad((message, busy) => {
    commits++
    timeline.note(`load: ${message}`)
    pools.set(busy.name, busy)
  })
  const git = gitOps(suite.namespace, cluster, manifests)
  const replicas = await followReplicas(suite, cluster)
  const observer = stack.use(
    await startObserver({
      rest: cluster.rest,
      call: suite.call,
      natsUrl: suite.nats.url,
      ...commands,
      metricsUrls: {
        fleet: metricsOf(suite, 'fleet'),
        ClusterPool: metricsOf(suite, 'pools'),
        AdapterTask: metricsOf(suite, 'adapters'),
      },
      timeline,
      declared,
    }),
  )
  stack.use(load)
  stack.use(git)
  stack.use(replicas)
  const world = stack.move()

  const clusterOfClaim = (claim: string): string | undefined => {
    const { objects, records } = observer.sight()
    const of = (objects.ClusterDeployment ?? []).map(clusterOf).find((one) => one.claim?.split('/')[1] === claim)
    return records.find(({ registeredFor }) => registeredFor === of?.name)?.id
  }
  /** For the managers, in milliseconds. */
  let passed = 0
  const stores = {
    etcd: layoutOf(dirname(cluster.kubeconfig)).data,
    nats: join(dirname(suite.nats.logFile), 'jetstream'),
  }
  const put = async (store: 'etcd' | 'nats'): Promise<void> => {
    await rm(stores[store], { recursive: true })
    await cp(join(backup, store), stores[store], { recursive: true })
  }
  return {
    suite,
    cluster,
    observer,
    timeline,
    declare: (pool) => {
      timeline.note(`declare ${pool.name}`)
      pools.set(pool.name, pool)
    },
    runPrograms: (names, version = 1) => {
      timeline.note(`declare the programs ${names.join(', ')}`)
      const next = new Map([KEEPER, ...names].map((name) => [name, version] as const))
      if (own.keys().some((name) => !name.startsWith(BRIEF) && !next.has(name))) observer.releasePrograms()
      own = next
    },
    programs: () => [...programs().keys()],
    load,
    clusterOf: clusterOfClaim,
    makeNodePools: async (count, claim) => {
      timeline.note(`make ${count} node pools`)
      await makeNodePools(suite, clusterOfClaim(claim) ?? '', count)
    },
    missing: () => missingFrom(observer.sight(), declared(), MACHINES),
    lost: () => (observer.sight().objects.ClusterDeployment ?? []).filter(isRecordGone).map(nameOf),
    backUp: async (store) => {
      timeline.note(`back up ${store}`)
      const server =
        store === 'nats' ? suite.nats : { kill: () => cluster.kill('etcd'), restart: () => cluster.restart('etcd') }
      await server.kill()
      await rm(join(backup, store), { recursive: true, force: true })
      await mkdir(backup, { recursive: true })
      await cp(stores[store], join(backup, store), { recursive: true })
      await server.restart()
    },
    restoreNats: async () => {
      timeline.note('NATS goes back')
      await suite.nats.kill()
      await load.done()
      await put('nats')
      await suite.nats.restart()
    },
    restoreEtcd: async () => {
      timeline.note('etcd goes back')
      replicas.rest()
      for (const part of ['kwok', 'kube-scheduler', 'kube-controller-manager', 'kube-apiserver', 'etcd'] as const)
        await cluster.kill(part)
      await put('etcd')
      await cluster.restart('etcd')
      await cluster.restart('kube-apiserver')
      timeline.note('the API server answers again')
    },
    stopGitOps: async () => {
      git.rest()
      await writeFile(join(backup, 'declared.yaml'), yamlOf(manifests()))
    },
    startGitOps: () => git.work(),
    scaled: async () => {
      await replicas.done()
      for (const [name, process] of suite.processes) if (!replicas.resting.has(name)) await process.ready()
    },
    startControllers: async () => {
      for (const part of ['kube-controller-manager', 'kube-scheduler', 'kwok'] as const) await cluster.restart(part)
      replicas.work()
    },
    purgeNats: async () => {
      timeline.note('the buckets are purged')
      const connection = await connect({ servers: suite.nats.url, reconnect: false })
      const { streams } = await jetstreamManager(connection)
      for (const bucket of ['desired', 'state', 'info', 'heartbeat']) await streams.purge(`KV_fleet-${bucket}`)
      await connection.close()
    },
    wipeNats: async () => {
      timeline.note('NATS begins with nothing')
      await suite.nats.kill()
      await load.done()
      await rm(stores.nats, { recursive: true })
      await suite.nats.restart()
    },
    loseRegion: async () => {
      timeline.note('the region is gone')
      suite.network?.refuse()
      suite.network?.cut()
      const connection = await connect({ servers: suite.nats.url, reconnect: false })
      const heartbeats = await new Kvm(connection).open('fleet-heartbeat')
      for (const machine of AWAY) await heartbeats.delete(machine)
      await connection.close()
    },
    regionReturns: async (skews) => {
      for (const [machine, skew] of Object.entries(skews)) await suite.skewClockOf(machine, skew)
      suite.network?.accept()
      timeline.note('the region is back')
    },
    machinesReady: () =>
      Object.fromEntries(
        (observer.sight().objects.Device ?? [])
          .filter(({ metadata: { name } }) => MACHINES.includes(name))
          .map((device) => [device.metadata.name, findCondition(device, 'Ready')?.status]),
      ),
    passTime: async (milliseconds) => {
      passed += milliseconds
      timeline.note(`${milliseconds / 1_000} s pass`)
      await suite.skewClocks(passed)
      const body = { metadata: { annotations: { 'example.com/looked-at': `${passed}` } } }
      for (const { metadata } of observer.sight().objects.ClusterDeployment ?? []) {
        const path = KINDS.ClusterDeployment.replace(
          /\/(\w+)$/,
          `/namespaces/${metadata.namespace}/$1/${metadata.name}`,
        )
        // Some go meanwhile.
        await cluster.rest('PATCH', path, body).catch(() => undefined)
      }
    },
    instructions: (heading) =>
      instructionsOf(heading, {
        kubeconfig: cluster.kubeconfig,
        folder: backup,
        instead: { 'http://127.0.0.1:8000': suite.apiUrl, 'nats://127.0.0.1:4222': suite.nats.url },
      }),
    lastStates: () => lastStates(cluster, suite, MUSTER_KINDS),
    [Symbol.asyncDispose]: () => world.disposeAsync(),
  }
}

const metricsOf = (suite: Suite, manager: ManagerName): string => suite.metricsUrls.get(manager) ?? ''

const programFor = (name: string, command: string): object => ({
  apiVersion: 'fleet.nationtech.io/v1alpha1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    targetSelector: { matchLabels: { [ROLE]: 'gate' } },
    score: { type: 'Process', data: { command: command.split(' ') } },
  },
})
