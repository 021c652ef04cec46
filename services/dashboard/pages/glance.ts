/** One figure and one bar for each part of the product. Pure. */
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { isTrue } from '#operator/model/conditions.ts'
import type { Part } from '../parts/chart.ts'
import { DEVICE_STATES, DEVICE_TONES, deviceStateOf, placementParts } from '../parts/placement-phases.ts'
import { number } from '../parts/tone.ts'
import type { Sources } from '../sources.ts'

export interface Glance {
  readonly path: string
  readonly name: string
  readonly figure: string
  /** What the figure counts. */
  readonly of: string
  readonly parts: readonly Part[]
}

const sum = <T>(items: readonly T[], count: (item: T) => number | undefined): number =>
  items.reduce((total, item) => total + (count(item) ?? 0), 0)

export const glances = (sources: Sources): readonly Glance[] =>
  [pools(sources), claims(sources), sentinels(sources), tasks(sources), ...fleet(sources)].flatMap(
    (glance) => glance ?? [],
  )

const pools = ({ objects }: Sources): Glance | undefined => {
  const cache = objects(ClusterPool)
  if (cache === undefined) return undefined
  const all = [...cache.values()]
  const ready = sum(all, ({ status }) => status?.ready)
  const standby = sum(all, ({ status }) => status?.standby)
  const size = sum(all, ({ status }) => status?.size)
  const desired = sum(all, ({ spec }) => spec.size)
  return {
    path: '/pools',
    name: 'Pools',
    figure: `${number(ready + standby)}/${number(desired)}`,
    of: `clusters installed, of those that ${all.length} pools want`,
    parts: [
      { tone: 'good', word: 'ready', count: ready },
      { tone: 'held', word: 'hibernating', count: standby },
      { tone: 'busy', word: 'on their way', count: Math.max(0, size - ready - standby) },
    ],
  }
}

const claims = ({ objects }: Sources): Glance | undefined => {
  const cache = objects(ClusterClaim)
  if (cache === undefined) return undefined
  const all = [...cache.values()]
  const waiting = all.filter(({ status }) => isTrue(status?.conditions, 'Pending')).length
  return {
    path: '/claims',
    name: 'Claims',
    figure: number(all.length),
    of: waiting === 0 ? 'all have their cluster' : `${number(waiting)} of them wait`,
    parts: [
      { tone: 'good', word: 'have a cluster', count: all.length - waiting },
      { tone: 'busy', word: 'wait', count: waiting },
    ],
  }
}

const sentinels = ({ objects }: Sources): Glance | undefined => {
  const cache = objects(SentinelConfig)
  if (cache === undefined) return undefined
  const all = [...cache.values()]
  const ready = sum(all, ({ status }) => status?.ready)
  const notReady = sum(all, ({ status }) => status?.notReady)
  return {
    path: '/sentinels',
    name: 'Sentinels',
    figure: `${number(ready)}/${number(ready + notReady)}`,
    of: `resources Ready, in ${all.length} shards`,
    parts: [
      { tone: 'good', word: 'ready', count: ready },
      { tone: 'busy', word: 'not ready', count: notReady },
    ],
  }
}

const tasks = ({ objects }: Sources): Glance | undefined => {
  const cache = objects(AdapterTask)
  if (cache === undefined) return undefined
  const all = [...cache.values()]
  const processed = sum(all, ({ status }) => status?.processed)
  const failed = sum(all, ({ status }) => status?.failed)
  return {
    path: '/tasks',
    name: 'Adapter tasks',
    figure: number(processed),
    of: `runs of ${all.length} tasks`,
    parts: [
      { tone: 'good', word: 'went well', count: Math.max(0, processed - failed) },
      { tone: 'bad', word: 'failed', count: failed },
    ],
  }
}

const fleet = (sources: Sources): readonly Glance[] => {
  const view = sources.fleet()
  if (view === undefined) return []
  const deployments = view.deployments()
  const devices = view.devices()
  const counts = { succeeded: 0, pending: 0, unreported: 0, failed: 0, offline: 0, held: 0 }
  let matched = 0
  for (const { aggregate } of deployments) {
    matched += aggregate.matched
    for (const state of Object.keys(counts) as (keyof typeof counts)[]) counts[state] += aggregate[state]
  }
  const states = Map.groupBy(devices, deviceStateOf)
  return [
    {
      path: '/deployments',
      name: 'Deployments',
      figure: `${number(counts.succeeded)}/${number(matched)}`,
      of: `placements run, of ${number(deployments.length)} Deployments`,
      parts: placementParts(counts),
    },
    {
      path: '/devices',
      name: 'Devices',
      figure: `${number(devices.filter(({ isAlive }) => isAlive).length)}/${number(devices.length)}`,
      of: 'devices online',
      parts: DEVICE_STATES.toReversed().map((word) => ({
        tone: DEVICE_TONES[word],
        word,
        count: states.get(word)?.length ?? 0,
      })),
    },
  ]
}
