/** The sample pool as `npm run up` shows it: filled, claimed, refilled. */
import { setTimeout as delay } from 'node:timers/promises'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { loadTransport } from '#operator/client/transport.ts'
import { findCondition } from '#operator/model/conditions.ts'
import type { Cluster } from '../cluster/cluster.ts'

/** The pool of kustomize/samples/pools and the claim of kustomize/samples/claim. */
export const POOL = 'edge'
export const CLAIM = 'demo'

/** What has been seen of the pool. */
export interface PoolSighting {
  readonly size: number
  /** Unclaimed clusters that run. */
  readonly ready: number
  readonly claimed: number
  /** Customizations that can be used, of how many. */
  readonly inventory: string
  /** The name of each cluster that exists with how it stands. */
  readonly clusters: ReadonlyMap<string, string>
  /** How the claim stands; undefined when there is none. */
  readonly claim: string | undefined
}

export const isFilled = ({ size, ready }: PoolSighting): boolean => ready === size
export const isRefilled = (sighting: PoolSighting): boolean => isFilled(sighting) && sighting.claimed === 1
/** No claim has a cluster, and none is left over. */
export const isFree = (sighting: PoolSighting): boolean =>
  isFilled(sighting) && sighting.claim === undefined && sighting.clusters.size === sighting.size

/** What has changed, a line each. */
export const describePoolChanges = (before: PoolSighting | undefined, now: PoolSighting): readonly string[] => {
  const lines: string[] = []
  for (const [name, stands] of now.clusters)
    if (before?.clusters.get(name) !== stands) lines.push(`clusterdeployment/${name} is ${stands}`)
  for (const name of before?.clusters.keys() ?? [])
    if (!now.clusters.has(name)) lines.push(`clusterdeployment/${name} is gone`)
  if (now.claim !== before?.claim) lines.push(`clusterclaim/${CLAIM} is ${now.claim ?? 'gone'}`)
  if (summary(before) !== summary(now)) lines.push(summary(now) ?? '')
  return lines
}

/** How it stands, for a screen that is redrawn. */
export const poolPicture = (now: PoolSighting): readonly string[] => [
  summary(now) ?? '',
  ...[...now.clusters].map(([name, stands]) => `clusterdeployment/${name} is ${stands}`),
  ...(now.claim === undefined ? [] : [`clusterclaim/${CLAIM} is ${now.claim}`]),
]

const summary = (sighting: PoolSighting | undefined): string | undefined =>
  sighting &&
  `clusterpool/${POOL} has ${sighting.ready} of ${sighting.size} clusters ready, ${sighting.claimed} claimed, inventory ${sighting.inventory}`

/** Between two looks at the cluster. */
const POLL_INTERVAL_MS = 300

/** What is followed, and how it was when it was looked at last. */
export interface Follow {
  readonly cluster: Cluster
  readonly namespace: string
  readonly last: PoolSighting | undefined
  readonly signal: AbortSignal
  onSighting(lines: readonly string[], picture: readonly string[]): void
}

/** Tells what becomes of the pool until the goal is reached. @returns how it is then. @throws the signal's reason */
export const followPool = async (
  { cluster: { kubeconfig, context }, namespace, last, signal, onSighting }: Follow,
  isDone: (sighting: PoolSighting) => boolean,
): Promise<PoolSighting> => {
  const transport = await loadTransport({ kubeconfig, context })
  const api = createApi(transport, { signal })
  try {
    for (let before = last; ; ) {
      const now = await look(api, namespace)
      const lines = now === undefined ? [] : describePoolChanges(before, now)
      if (now !== undefined && lines.length > 0) onSighting(lines, poolPicture(now))
      if (now !== undefined && isDone(now)) return now
      before = now ?? before
      await delay(POLL_INTERVAL_MS, undefined, { signal })
    }
  } finally {
    await transport.close()
  }
}

const look = async (api: Api, namespace: string): Promise<PoolSighting | undefined> => {
  const pool = await api.get(ClusterPool, POOL, namespace)
  const claim = await api.get(ClusterClaim, CLAIM, namespace)
  const clusters = await Array.fromAsync(api.list(ClusterDeployment))
  if (pool === undefined) return undefined
  const { size } = pool.spec
  const { ready = 0, claimed = 0, inventorySummary = 'not looked at' } = pool.status ?? {}
  return {
    size: size,
    ready,
    claimed,
    inventory: inventorySummary,
    clusters: new Map(clusters.filter((one) => isOf(pool, one)).map((one) => [one.metadata.name, standsAs(one)])),
    claim: claim && (findCondition(claim.status?.conditions, 'Pending')?.reason ?? 'Pending'),
  }
}

const isOf = ({ metadata }: ClusterPool, { spec: { clusterPoolRef: ref } }: ClusterDeployment): boolean =>
  ref?.poolName === metadata.name && ref.namespace === metadata.namespace

const standsAs = ({ spec, status }: ClusterDeployment): string =>
  `${findCondition(status?.conditions, 'Ready')?.reason ?? 'New'} (${spec.clusterName})`

/** Deletes claims and pool and waits until their clusters have gone with them. */
export const removePool = async ({ kubectl }: Cluster, namespace: string): Promise<void> => {
  for (const object of [`clusterclaim/${CLAIM}`, `clusterpool/${POOL}`])
    await kubectl(['delete', object, `--namespace=${namespace}`, '--ignore-not-found', '--timeout=180s'])
}
