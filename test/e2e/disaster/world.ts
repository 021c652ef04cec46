/** The whole suite at work, its stores that can be put back to an earlier moment, and what people want of it. */
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { dump } from 'js-yaml'
import { layoutOf } from '#hack/cluster/local/layout.ts'
import { NODE } from '#hack/cluster/local/node.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { type Manifest, type Suite, type Supervised, startSuite } from '#test/harness/suite.ts'
import { type DeclaredPool, manifestsOf } from '#test/worlds/suite/declared.ts'
import { install } from '#test/worlds/suite/installer.ts'
import { KINDS, type Kind } from '#test/worlds/suite/observer/kinds.ts'
import { type KubeSight, nameOf } from '#test/worlds/suite/observer/sights.ts'
import { type Timeline, timelineFrom } from '#test/worlds/suite/timeline.ts'
import { lastStates, MUSTER_KINDS } from '../fire/world.ts'
import { type Instructions, instructionsOf } from './instructions.ts'
import { type Declared, isRecordGone, missingFrom } from './invariants.ts'
import { type DisasterObserver, startObserver } from './observer.ts'

export interface DisasterWorld extends AsyncDisposable {
  readonly suite: Suite
  readonly cluster: OwnControlPlane
  readonly observer: DisasterObserver
  readonly timeline: Timeline
  /** Changes what is declared of a pool; what is declared is applied, and what is not is deleted, again and again. */
  declare(pool: DeclaredPool): void
  /** Declares programs for all machines, besides the one that always runs. */
  runPrograms(names: readonly string[]): void
  /** Names of those that are declared. */
  programs(): readonly string[]
  /** What is not as it is declared yet. */
  missing(): readonly string[]
  /** Names of ClusterDeployments whose cluster the HyperFleet API has no more. */
  lost(): readonly string[]
  /** A copy of a store as it is now. PostgreSQL's is made by what the page says. */
  backUp(store: 'etcd' | 'nats'): Promise<void>
  /** Puts the last copy back, while everything else goes on. @param meanwhile while NATS is away */
  restoreNats(meanwhile?: () => void): Promise<void>
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
  /** Begins NATS with nothing. @param meanwhile while NATS is away */
  wipeNats(meanwhile?: () => void): Promise<void>
  /** What the page has a person do. @param heading of a section */
  instructions(heading: string): Promise<Instructions>
  lastStates(): Promise<string>
}

/** Beside the pools: Deployments of the fleet whose program runs on each machine. */
const KEEPER = 'keeper'
/** Names of those that will not be wanted any more begin so: these may end. */
const WITHDRAWN = 'old'
const MACHINES = ['gate-1', 'gate-2', 'gate-3']
const ROLE = 'example.com/role'

/** Which process stands for which Deployment of the delivered suite. */
const DEPLOYMENTS: Readonly<Record<string, string>> = {
  'hyperfleet-api': 'api',
  'hyperfleet-adapter': 'adapters',
  'hyperfleet-clusterpool': 'pools',
  'hyperfleet-clusterdeployment': 'clusters',
  'hyperfleet-clusterdevice': 'devices',
  'fleet-operator': 'fleet',
  'cluster-sentinel-us-west': 'sentinels',
}

export const disasterWorld = async (): Promise<DisasterWorld> => {
  await using stack = new AsyncDisposableStack()
  const timeline = timelineFrom()
  const parts = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const
  const cluster = stack.use(await startControlPlane({ parts }))
  await cluster.rest('POST', '/api/v1/nodes', NODE)
  const machines = Object.fromEntries(MACHINES.map((name) => [name, `${ROLE}=gate`]))
  const suite = stack.use(await startSuite({ cluster, database: 'postgres', machines }))
  await install(suite, cluster)
  const backup = await temporaryFolder('backup')

  const pools = new Map<string, DeclaredPool>()
  let programs: readonly string[] = [KEEPER]
  const declared = (): Declared => ({ pools, programs })
  // No other program of this machine has these arguments.
  const program = ['sleep', `${10_000_000 + process.pid}`]
  const manifests = (): readonly object[] => [
    ...[...pools.values()].flatMap(manifestsOf),
    ...programs.map((name) => programFor(name, program)),
  ]
  const git = gitOps(suite.namespace, cluster, join(backup, 'git.yaml'), manifests)
  const replicas = await followReplicas(suite, cluster)
  const observer = stack.use(
    await startObserver({
      rest: cluster.rest,
      call: suite.call,
      natsUrl: suite.nats.url,
      program,
      timeline,
      declared,
    }),
  )
  stack.use(git)
  stack.use(replicas)
  const world = stack.move()

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
    runPrograms: (names) => {
      timeline.note(`declare the programs ${names.join(', ')}`)
      observer.releasePrograms()
      programs = [KEEPER, ...names]
    },
    programs: () => programs,
    missing: () => missingFrom(observer.sight(), declared(), MACHINES.length),
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
    restoreNats: async (meanwhile) => {
      timeline.note('NATS goes back')
      await suite.nats.kill()
      meanwhile?.()
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
    wipeNats: async (meanwhile) => {
      timeline.note('NATS begins with nothing')
      await suite.nats.kill()
      meanwhile?.()
      await rm(stores.nats, { recursive: true })
      await suite.nats.restart()
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

const programFor = (name: string, command: readonly string[]): object => ({
  apiVersion: 'fleet.nationtech.io/v1alpha1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    targetSelector: { matchLabels: { [ROLE]: 'gate' } },
    score: { type: 'Process', data: { command: name.startsWith(WITHDRAWN) ? ['sleep', '1000000'] : command } },
  },
})

interface Working extends AsyncDisposable {
  /** Does nothing until `work`. */
  rest(): void
  work(): void
  /** Resolves when it has been done once more, from now on, without failing. */
  done(): Promise<void>
}

/** Does it again and again; what fails is done again. */
const again = (intervalMs: number, work: () => Promise<void>): Working => {
  const ending = new AbortController()
  let isResting = false
  let begun = 0
  /** The last one that did not fail. */
  let done = 0
  const working = (async () => {
    while (!ending.signal.aborted) {
      const mine = ++begun
      if (!isResting)
        await work().then(
          () => {
            done = mine
          },
          () => undefined,
        )
      await delay(intervalMs)
    }
  })()
  return {
    rest: () => {
      isResting = true
    },
    work: () => {
      isResting = false
    },
    done: async () => {
      const next = begun + 1
      while (done < next) await delay(intervalMs)
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await working
    },
  }
}

const DECLARED_KINDS = ['ClusterDeploymentCustomization', 'ClusterPool', 'ClusterClaim', 'Deployment'] as const

const yamlOf = (manifests: readonly object[]): string =>
  manifests.map((manifest) => dump(manifest, { noRefs: true })).join('---\n')

/**
 * What Argo CD does with pruning and self-healing: what is declared is there, and nothing else of these kinds.
 * @param file that may be written
 */
const gitOps = (
  namespace: string,
  cluster: OwnControlPlane,
  file: string,
  declared: () => readonly object[],
): Working => {
  let synced = ''
  const pathOf = (kind: Kind): string => KINDS[kind].replace(/\/(\w+)$/, `/namespaces/${namespace}/$1`)
  const listed = async (kind: Kind) => {
    const { items } = await cluster.rest<{ items: readonly KubeSight[] }>('GET', pathOf(kind))
    return items.map(({ metadata: { name, uid, generation } }) => ({ kind, name, uid, generation }))
  }
  const there = async () => (await Promise.all(DECLARED_KINDS.map(listed))).flat()
  return again(500, async () => {
    const manifests = declared()
    const yaml = yamlOf(manifests)
    if (manifests.length === 0 || synced === yaml + JSON.stringify(await there())) return
    await writeFile(file, yaml)
    const options = [
      '--server-side',
      '--force-conflicts',
      '--field-manager=argocd-controller',
      `--namespace=${namespace}`,
    ]
    await cluster.kubectl('apply', ...options, '-f', file)
    const wanted = new Set((manifests as readonly Manifest[]).map(({ kind, metadata }) => `${kind} ${metadata.name}`))
    for (const { kind, name } of await there())
      if (!wanted.has(`${kind} ${name}`)) await cluster.rest('DELETE', `${pathOf(kind)}/${name}`)
    const now = await there()
    const names = new Set(now.map(({ kind, name }) => `${kind} ${name}`))
    // What was being deleted while it was applied is gone now, and is applied again.
    synced = wanted.isSubsetOf(names) ? yaml + JSON.stringify(now) : ''
  })
}

interface Workload {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly replicas: number }
}

/** The delivered Deployments, whose pods kwok plays; the process that stands for each rests while it is scaled to 0. */
const followReplicas = async (
  suite: Suite,
  cluster: OwnControlPlane,
): Promise<Working & { readonly resting: ReadonlySet<string> }> => {
  const delivered = (await suite.render('overlays/stage')).filter(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name in DEPLOYMENTS,
  )
  const names = delivered.map(({ metadata }) => metadata.name)
  const missing = Object.keys(DEPLOYMENTS).filter((name) => !names.includes(name))
  if (missing.length > 0) throw new Error(`overlays/stage has no Deployment ${missing.join(', ')}`)
  await cluster.kubectl(
    'delete',
    'deployment',
    'hyperfleet-api',
    `--namespace=${suite.namespace}`,
    '--ignore-not-found',
  )
  await suite.apply(delivered.map((manifest) => ({ ...manifest, spec: { ...manifest.spec, replicas: 1 } })))
  const secret = `--from-literal=url=${suite.postgres?.url}`
  await cluster.kubectl(
    'create',
    'secret',
    'generic',
    'hyperfleet-api-database',
    secret,
    `--namespace=${suite.namespace}`,
  )
  const resting = new Set<string>()
  const path = `/apis/apps/v1/namespaces/${suite.namespace}/deployments`
  const following = again(200, async () => {
    const { items } = await cluster.rest<{ items: readonly Workload[] }>('GET', path)
    const changes = items.flatMap(({ metadata, spec: { replicas } }) => {
      const name = DEPLOYMENTS[metadata.name] ?? ''
      const process = suite.processes.get(name)
      return process === undefined || (replicas === 0) === resting.has(name) ? [] : [{ name, replicas, process }]
    })
    await Promise.all(changes.map((change) => scale(change, resting)))
  })
  return { ...following, resting }
}

const scale = async (
  { name, replicas, process }: { readonly name: string; readonly replicas: number; readonly process: Supervised },
  resting: Set<string>,
): Promise<void> => {
  if (replicas > 0) {
    process.resume()
    resting.delete(name)
    return
  }
  await process.pause()
  resting.add(name)
}
