/**
 * The whole suite at rest, with something steady for every controller to look after, and an observer that looks on. Faults come to it one
 * after the other; between two of them all is as declared again.
 */
import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { readKubeconfig } from '#hack/cluster/kubeconfig.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { type ManagerName, type Manifest, type Suite, startSuite } from '#test/harness/suite.ts'
import { notYet } from '#test/worlds/suite/as-declared.ts'
import { type DeclaredPool, manifestsOf, REMOTE } from '#test/worlds/suite/declared.ts'
import { access, hurried, remoteAdmin, sentinel } from '#test/worlds/suite/installer.ts'
import { type Observer, startObserver } from '#test/worlds/suite/observer/observer.ts'
import { clusterOf, nameOf } from '#test/worlds/suite/observer/sights.ts'
import { timelineFrom } from '#test/worlds/suite/timeline.ts'

/** Every controller of the matrix, with the process of the suite that runs it. */
export const PROCESSES = {
  sentinel: 'sentinels',
  adapter: 'adapters',
  clusterpool: 'pools',
  clusterclaim: 'pools',
  clusterdeployment: 'clusters',
  clusterdevice: 'devices',
  fleet: 'fleet',
} as const satisfies Readonly<Record<string, ManagerName>>

export type ControllerName = keyof typeof PROCESSES

export type Row<Entry> = Readonly<Record<ControllerName, Entry>>

/** What Muster runs as, and where. */
export const NAMESPACE = 'hyperfleet-system'

/** What must not be exchanged. */
const DECLARED = ['ClusterPool', 'ClusterClaim', 'ClusterDeployment', 'Deployment', 'Device'] as const

/** A cluster of the HyperFleet API. */
interface Registered {
  readonly id: string
  readonly generation: number
  readonly spec: { readonly clusterDeployment?: { readonly namespace: string; readonly name: string } }
}

export interface FaultWorld extends AsyncDisposable {
  readonly cluster: OwnControlPlane
  readonly suite: Suite
  readonly observer: Observer
  /** Makes it so that this, and nothing else, is declared. */
  declare(pool: DeclaredPool): Promise<void>
  /** What is not as declared, a sentence each. */
  missing(): Promise<readonly string[]>
  /** What each controller has not done yet of what is declared. */
  readonly undone: Row<() => Promise<readonly string[]>>
  /** Every line of the log of a process that a controller runs in, since the mark. */
  log(controller: ControllerName): Promise<string>
  /** From now on `log` begins here. */
  markLogs(): Promise<void>
  /** By what must not change: the identities of everything that is there, of leases and of what claims have. */
  identities(): Promise<readonly string[]>
  /** More clusters than are asked for: than the pool's size and one for each claim. */
  surplus(): readonly string[]
  /** The ClusterDeployment that a claim has. */
  deploymentOf(claim: string): { readonly namespace: string; readonly name: string }
  /** The id in the HyperFleet API of the cluster that a claim has. */
  idOf(claim: string): Promise<string>
}

/** The steady state: two clusters, of which one is claimed, both of them devices with a workload. */
export const STEADY: DeclaredPool = {
  name: 'steady',
  size: 1,
  customizations: ['c1', 'c2', 'c3', 'c4'],
  claims: ['mine'],
  rollouts: { web: 'as ever' },
}

const API = '/api/hyperfleet/v1/clusters'

export const faultWorld = async (): Promise<FaultWorld> => {
  await using stack = new AsyncDisposableStack()
  const cluster = stack.use(await startControlPlane())
  const suite = stack.use(await startSuite({ cluster }))
  await suite.apply(remoteAdmin)
  const remote = await readKubeconfig(await cluster.kubeconfigFor('admin', REMOTE))
  // It reports for the adapter that validates, so that no Job is needed.
  const tasks = [
    ...(await suite.render('samples/tasks/cluster-config')),
    ...access(NAMESPACE, remote, 'cluster-validation'),
  ]
  await suite.apply([sentinel(NAMESPACE), ...tasks].map(hurried))
  const observer = stack.use(
    await startObserver({
      kubeconfig: cluster.kubeconfig,
      natsUrl: suite.nats.url,
      call: suite.call,
      timeline: timelineFrom(),
      machines: [],
    }),
  )
  const own = stack.move()

  let declared: DeclaredPool = STEADY
  let marks: ReadonlyMap<string, number> = new Map()
  const objects = observer.objects

  const registered = async (): Promise<readonly Registered[]> =>
    (await suite.call<{ items: readonly Registered[] }>('GET', `${API}?size=100`))?.items ?? []
  const alive = () => objects('ClusterDeployment').filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const logOf = (process: ManagerName) => readFile(suite.process(process).logFile, 'utf8')
  const differences = () => notYet(new Map([[declared.name, declared]]), objects)

  const deploymentOf: FaultWorld['deploymentOf'] = (claim) => {
    const found = alive().find((one) => clusterOf(one).claim === `${NAMESPACE}/${claim}`)
    if (found === undefined) throw new Error(`the claim ${claim} has no ClusterDeployment`)
    const { namespace = '', name } = found.metadata
    return { namespace, name }
  }

  const undone: FaultWorld['undone'] = {
    clusterpool: async () => differences().filter((one) => one.startsWith('ClusterPool')),
    clusterclaim: async () => differences().filter((one) => one.startsWith('ClusterClaim')),
    fleet: async () => differences().filter((one) => one.startsWith('Deployment')),
    clusterdeployment: async () => {
      const known = new Set(
        (await registered()).map(({ spec }) => `${spec.clusterDeployment?.namespace}/${spec.clusterDeployment?.name}`),
      )
      return alive()
        .map(nameOf)
        .filter((name) => !known.has(name))
        .map((name) => `ClusterDeployment ${name} is not registered`)
    },
    sentinel: async () => observer.remains().filter((one) => one.startsWith('an event for')),
    adapter: async () => {
      const all = await Promise.all(
        (await registered()).map(async ({ id, generation }) => {
          const path = `/api/v1/namespaces/c-${id}/configmaps/cluster`
          const found = await cluster.rest<{ data: { generation: string } }>('GET', path).catch(() => undefined)
          const said = found?.data.generation ?? 'nothing'
          return said === String(generation) ? [] : [`the ConfigMap of ${id} says ${said} and not ${generation}`]
        }),
      )
      return all.flat()
    },
    clusterdevice: async () => {
      const devices = new Set(objects('Device').map(nameOf))
      return alive()
        .map(({ metadata }) => metadata.name)
        .filter((name) => !devices.has(name))
        .map((name) => `the cluster ${name} is no Device`)
    },
  }

  return {
    cluster,
    suite,
    observer,
    undone,
    deploymentOf,
    idOf: async (claim) => {
      const { namespace, name } = deploymentOf(claim)
      const all = await registered()
      const found = all.find(({ spec: { clusterDeployment: of } }) => of?.namespace === namespace && of.name === name)
      if (found === undefined) throw new Error(`the claim ${claim} has no cluster in the HyperFleet API`)
      return found.id
    },
    declare: async (pool) => {
      const before = new Set(manifestsOf(declared).map((one) => keyOf(one as Manifest)))
      declared = pool
      const manifests = manifestsOf(pool) as readonly Manifest[]
      await suite.apply(manifests.map((one) => ({ ...one, metadata: { ...one.metadata, namespace: NAMESPACE } })))
      const now = new Set(manifests.map(keyOf))
      for (const key of before)
        if (!now.has(key)) await cluster.kubectl('delete', key, '-n', NAMESPACE, '--wait=false', '--ignore-not-found')
    },
    missing: async () => [...differences(), ...(await Promise.all(Object.values(undone).map((of) => of()))).flat()],
    log: async (controller) => {
      const process = PROCESSES[controller]
      return (await logOf(process)).slice(marks.get(process) ?? 0)
    },
    markLogs: async () => {
      const names = [...new Set(Object.values(PROCESSES))]
      marks = new Map(await Promise.all(names.map(async (name) => [name, (await logOf(name)).length] as const)))
    },
    surplus: () => {
      const [clusters, most] = [alive().map(nameOf), declared.size + declared.claims.length]
      return clusters.length > most ? [`${clusters.join(', ')} are more than ${most}`] : []
    },
    identities: async () => {
      const seen = DECLARED.flatMap((kind) => objects(kind).map((one) => `${kind} ${nameOf(one)} ${one.metadata.uid}`))
      const claims = alive()
        .map(clusterOf)
        .flatMap(({ name, customization, claim }) => [
          `${name} leases ${customization}`,
          ...(claim === undefined ? [] : [`${name} is of the claim ${claim}`]),
        ])
      const records = (await registered()).map(({ id }) => `cluster ${id} of the HyperFleet API`)
      return [...seen, ...claims, ...records].toSorted()
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  }
}

/** As kubectl names it. */
const keyOf = ({ kind, metadata: { name } }: Manifest): string =>
  `${kind === 'Deployment' ? 'fleetdep' : kind.toLowerCase()}/${name}`

/** What is waited for on a machine that does all of it at once. */
export const PATIENCE = { timeout: 150_000, interval: 300 } as const

/** Until all is as declared, and settled: nothing is leaving, and nothing belongs to nothing. */
export const untilAsDeclared = async (world: FaultWorld): Promise<void> => {
  await expect.poll(() => world.missing(), PATIENCE).toEqual([])
}
