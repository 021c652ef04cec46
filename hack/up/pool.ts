/** A pool as `npm run up` shows it: filled, claimed, refilled. */
import { setTimeout as delay } from 'node:timers/promises'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { loadTransport } from '#operator/client/transport.ts'
import { findCondition } from '#operator/model/conditions.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { untilGoal } from './goal.ts'
import type { Place } from './place.ts'

/** The pool of kustomize/samples/pools and the claim of kustomize/samples/claim. */
export const POOL = 'edge'
export const CLAIM = 'demo'

/** What has been seen of the pool. */
export interface PoolSighting {
  readonly name: string
  readonly size: number
  /** Unclaimed clusters that run. */
  readonly ready: number
  /** Unclaimed clusters that hibernate. */
  readonly standby: number
  readonly claimed: number
  /** Customizations that can be used, of how many. */
  readonly inventory: string
  /** The name of each cluster that exists with how it stands. */
  readonly clusters: ReadonlyMap<string, string>
  /** The name of each claim on the pool with how it stands. */
  readonly claims: ReadonlyMap<string, string>
}

export const isFilled = ({ size, ready }: PoolSighting): boolean => ready === size
export const isRefilled = (sighting: PoolSighting): boolean => isFilled(sighting) && sighting.claimed === 1
/** No claim has a cluster, and none is left over. */
export const isFree = (sighting: PoolSighting): boolean =>
  isFilled(sighting) && sighting.claims.size === 0 && sighting.clusters.size === sighting.size

/** What has changed, a line each. */
export const describePoolChanges = (before: PoolSighting | undefined, now: PoolSighting): readonly string[] => {
  const lines = [
    ...changes('clusterdeployment', before?.clusters ?? NONE, now.clusters),
    ...changes('clusterclaim', before?.claims ?? NONE, now.claims),
  ]
  return summary(before) === summary(now) ? lines : [...lines, summary(now) ?? '']
}

type Standings = ReadonlyMap<string, string>
const NONE: Standings = new Map()

const changes = (kind: string, before: Standings, now: Standings): readonly string[] => [
  ...linesOf(
    kind,
    [...now].filter(([name, stands]) => before.get(name) !== stands),
  ),
  ...[...before.keys()].filter((name) => !now.has(name)).map((name) => `${kind}/${name} is gone`),
]

const linesOf = (kind: string, standings: Iterable<readonly [string, string]>): readonly string[] =>
  [...standings].map(([name, stands]) => `${kind}/${name} is ${stands}`)

/** How it stands, for a screen that is redrawn. */
export const poolPicture = (now: PoolSighting): readonly string[] => [
  summary(now) ?? '',
  ...linesOf('clusterdeployment', now.clusters),
  ...linesOf('clusterclaim', now.claims),
]

const summary = (sighting: PoolSighting | undefined): string | undefined => {
  if (sighting === undefined) return undefined
  const { name, size, ready, standby, claimed, inventory } = sighting
  const asleep = standby === 0 ? '' : `, ${standby} hibernated`
  return `clusterpool/${name} has ${ready} of ${size} clusters ready${asleep}, ${claimed} claimed, inventory ${inventory}`
}

/** Between two looks at the cluster. */
const POLL_INTERVAL_MS = 300

/**
 * Tells what becomes of a pool until the goal is reached.
 * @param last how it was when it was looked at last
 * @returns how it is then
 */
export const untilPool = (
  { run, screen, cluster: { kubeconfig, context }, namespace }: Place,
  pool: string,
  last: PoolSighting | undefined,
  isDone: (sighting: PoolSighting) => boolean,
): Promise<PoolSighting> =>
  untilGoal(run, screen, async (signal, onSighting) => {
    const transport = await loadTransport({ kubeconfig, context })
    const api = createApi(transport, { signal })
    try {
      for (let before = last; ; ) {
        const now = await look(api, pool, namespace)
        const lines = now === undefined ? [] : describePoolChanges(before, now)
        if (now !== undefined && lines.length > 0) onSighting(lines, poolPicture(now))
        if (now !== undefined && isDone(now)) return now
        before = now ?? before
        await delay(POLL_INTERVAL_MS, undefined, { signal })
      }
    } finally {
      await transport.close()
    }
  })

const look = async (api: Api, name: string, namespace: string): Promise<PoolSighting | undefined> => {
  const pool = await api.get(ClusterPool, name, namespace)
  const claims = await Array.fromAsync(api.list(ClusterClaim, { namespace }))
  const clusters = await Array.fromAsync(api.list(ClusterDeployment))
  if (pool === undefined) return undefined
  const { ready = 0, standby = 0, claimed = 0, inventorySummary = 'not looked at' } = pool.status ?? {}
  return {
    name,
    size: pool.spec.size,
    ready,
    standby,
    claimed,
    inventory: inventorySummary,
    clusters: new Map(clusters.filter((one) => isOf(pool, one)).map((one) => [one.metadata.name, standsAs(one)])),
    claims: new Map(
      claims.filter(({ spec }) => spec.clusterPoolName === name).map((one) => [one.metadata.name, claimStandsAs(one)]),
    ),
  }
}

const claimStandsAs = ({ status }: ClusterClaim): string =>
  findCondition(status?.conditions, 'Pending')?.reason ?? 'Pending'

const isOf = ({ metadata }: ClusterPool, { spec: { clusterPoolRef: ref } }: ClusterDeployment): boolean =>
  ref?.poolName === metadata.name && ref.namespace === metadata.namespace

const standsAs = ({ spec, status }: ClusterDeployment): string =>
  `${findCondition(status?.conditions, 'Ready')?.reason ?? 'New'} (${spec.clusterName})`

/** Deletes claims and pool and waits until their clusters have gone with them. */
export const removePool = async ({ kubectl }: Cluster, namespace: string): Promise<void> => {
  for (const object of [`clusterclaim/${CLAIM}`, `clusterpool/${POOL}`])
    await kubectl(['delete', object, `--namespace=${namespace}`, '--ignore-not-found', '--timeout=180s'])
}
