/** All pages, in the order in which paths are looked up, and the menu. */
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import type { Resource } from '#operator/model/resource.ts'
import type { AnyPage } from '../page.ts'
import type { Sources } from '../sources.ts'
import { attention } from './attention.ts'
import { claim, claims } from './claims.ts'
import { deployment, deployments } from './deployments.ts'
import { device, devices } from './devices.ts'
import { pool, pools } from './pools.ts'
import { preview } from './preview.ts'
import { run } from './run.ts'
import { sentinel, sentinels } from './sentinels.ts'
import { task, tasks } from './tasks.ts'

export const PAGES: readonly AnyPage[] = [
  [attention],
  [pools, pool, claims, claim],
  [sentinels, sentinel, tasks, task, run],
  [deployments, deployment, devices, device, preview],
].flat()

export interface MenuEntry {
  readonly path: string
  readonly word: string
  /** This process knows something of it. */
  isThere(sources: Sources): boolean
}

const whenWatched = (resource: Resource) => (sources: Sources) => sources.objects(resource) !== undefined
const whenFleet = (sources: Sources) => sources.fleet() !== undefined

export const MENU: readonly MenuEntry[] = [
  { path: '/', word: 'Attention', isThere: () => true },
  { path: '/pools', word: 'Pools', isThere: whenWatched(ClusterPool) },
  { path: '/claims', word: 'Claims', isThere: whenWatched(ClusterClaim) },
  { path: '/sentinels', word: 'Sentinels', isThere: whenWatched(SentinelConfig) },
  { path: '/tasks', word: 'Adapter tasks', isThere: whenWatched(AdapterTask) },
  { path: '/deployments', word: 'Deployments', isThere: whenFleet },
  { path: '/devices', word: 'Devices', isThere: whenFleet },
  { path: '/preview', word: 'Selector preview', isThere: whenFleet },
]

/** The kinds whose changes change a page. */
export const WATCHED: readonly Resource[] = [
  ClusterPool,
  ClusterClaim,
  ClusterDeployment,
  SentinelConfig,
  AdapterTask,
  Deployment,
]
