/**
 * Looks on, from the first commit to the end: by its own watches of the API server, its own look at the HyperFleet API and its own
 * consumer group there, and the keys in NATS. What it finds wrong it keeps, with the time in the timeline.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Timeline } from '../timeline.ts'
import { type Call, watchHyperfleet } from './hyperfleet.ts'
import {
  changedClaims,
  doubleClaims,
  doubleLeases,
  doubleRecords,
  lasting,
  leaving,
  orphans,
  overdue,
  untold,
} from './invariants.ts'
import { keyReader } from './keys.ts'
import { KINDS } from './kinds.ts'
import { type KindWatch, kubernetesWatches } from './kubernetes.ts'
import { type ClusterSight, clusterOf, type KubeSight, nameOf } from './sights.ts'

export interface ObserverOptions {
  /** Of the API server itself. */
  readonly kubeconfig: string
  readonly natsUrl: string
  readonly call: Call
  readonly timeline: Timeline
  /** Devices that are machines, which stay. */
  readonly machines: readonly string[]
}

export interface Observer extends AsyncDisposable {
  /** Everything that was wrong so far, each once. */
  violations(): readonly string[]
  /** Everything that is still there of pools, claims, clusters and rollouts. */
  remains(): readonly string[]
  /** One kind, as it is watched. */
  objects(kind: Kind): readonly KubeSight[]
  /** How many clusters and events were seen: an observer that saw nothing proves nothing. */
  seen(): { readonly clusters: number; readonly pulses: number; readonly changes: number }
}

/** What is watched, by kind: also what adapters and pools make of it. */
const WATCHED = { ...KINDS, Namespace: '/api/v1/namespaces', Job: '/apis/batch/v1/jobs' } as const

export type Kind = keyof typeof WATCHED

/** Of what adapters apply: the id of the cluster that it is for. */
const RESOURCE_LABEL = 'muster.dev/resource-id'
/** Of the namespaces that pools make. */
const POOL_LABEL = 'hive.openshift.io/clusterpool-name'

/** Between two looks at what goes on for a while, in milliseconds. */
const POLL_INTERVAL_MS = 1_000

/**
 * How long something may belong to nothing, wait to be told or not go, in milliseconds: longer than any fire, then a Lease of 15 s that a
 * killed process held, and processes and an API server that come back, on a machine that does all of it at once.
 */
const BOUND = 150_000

export const startObserver = async (options: ObserverOptions): Promise<Observer> => {
  const { kubeconfig, natsUrl, call, timeline, machines } = options
  const ending = new AbortController()
  const violations = new Set<string>()
  const everSeen = new Map<string, ClusterSight>()
  const watched = new Map<Kind, KindWatch>()
  let keys: readonly string[] = []
  let going: ReadonlyMap<string, number> = new Map()

  const objects = (kind: Kind): readonly KubeSight[] => watched.get(kind)?.objects() ?? []
  const clusters = (): readonly ClusterSight[] => objects('ClusterDeployment').map(clusterOf)
  const found = (what: readonly string[]): void => {
    for (const one of what) {
      if (violations.has(one)) continue
      violations.add(one)
      timeline.note(`VIOLATION: ${one}`)
    }
  }

  const lookAtClusters = (): void => {
    const now = clusters()
    found([...doubleLeases(now), ...doubleClaims(now), ...changedClaims(everSeen, now)])
    for (const cluster of now) everSeen.set(cluster.uid, cluster)
  }
  const hyperfleet = await watchHyperfleet(call)
  const lookAtRecords = (): void => found(doubleRecords(hyperfleet.records()))

  const applied = (): ReadonlyMap<string, string> =>
    new Map(
      [...objects('Namespace'), ...objects('Job')].flatMap((object) => {
        const id = object.metadata.labels?.[RESOURCE_LABEL]
        return id === undefined ? [] : [[`${object.kind} ${nameOf(object)}`, id]]
      }),
    )
  const namespaces = (): readonly string[] =>
    objects('Namespace')
      .filter(({ metadata }) => metadata.labels?.[POOL_LABEL] !== undefined)
      .map(nameOf)

  const lookAtWhatLasts = (): void => {
    const now = Date.now()
    const belonging = orphans({
      clusters: clusters(),
      records: hyperfleet.records(),
      applied: applied(),
      keys: keys.filter((key) => !key.startsWith('fleet-info ')),
      devices: objects('Device').map(nameOf),
      deployments: objects('Deployment').map(nameOf),
    })
    const waiting = untold(hyperfleet.changes(), hyperfleet.pulses())
    going = lasting(
      going,
      [
        ...belonging.map((one) => `belongs to nothing: ${one}`),
        ...waiting.map((one) => `no status tells of ${one}`),
        ...leaving(Object.keys(WATCHED).flatMap((kind) => objects(kind as Kind))).map((one) => `does not go: ${one}`),
      ],
      now,
    )
    found(overdue(going, now, BOUND))
  }
  const nats = keyReader(natsUrl)
  const readAgain = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      // NATS is killed too; its keys are still there when it is back.
      keys = await nats.read().catch(() => keys)
      lookAtWhatLasts()
      await delay(POLL_INTERVAL_MS)
    }
  }

  await using stack = new AsyncDisposableStack()
  const watches = stack.use(await kubernetesWatches(kubeconfig))
  stack.use(nats)
  for (const [kind, path] of Object.entries(WATCHED) as [Kind, string][])
    watched.set(kind, await watches.kind(kind, path, kind === 'ClusterDeployment' ? lookAtClusters : undefined))
  const following = Promise.all([hyperfleet.follow(ending.signal, lookAtRecords), readAgain()])
  stack.defer(async () => {
    ending.abort()
    await following
  })
  const running = stack.move()

  return {
    violations: () => [...violations],
    objects,
    remains: () => [
      ...(['ClusterPool', 'ClusterClaim', 'ClusterDeployment', 'ClusterDeploymentCustomization', 'Deployment'] as const)
        .flatMap(objects)
        .map((object) => `${object.kind} ${nameOf(object)}`),
      ...objects('Device')
        .map(nameOf)
        .filter((name) => !machines.includes(name))
        .map((name) => `Device ${name}`),
      ...hyperfleet.records().map(({ id, name }) => `cluster ${name} (${id}) of the HyperFleet API`),
      ...applied().keys(),
      ...namespaces().map((name) => `Namespace ${name}`),
      ...keys.filter((key) => !machines.some((machine) => key === `fleet-info ${machine}`)).map((key) => `key ${key}`),
      ...untold(hyperfleet.changes(), hyperfleet.pulses()).map((one) => `an event for ${one}`),
    ],
    seen: () => ({
      clusters: everSeen.size,
      pulses: hyperfleet.pulses().length,
      changes: hyperfleet.changes().length,
    }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
