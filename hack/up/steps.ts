import { rm } from 'node:fs/promises'
import type { Cluster, ClusterRequest } from '../cluster/cluster.ts'
import { temporaryFolder } from '../process/folder.ts'
import { claimRealCluster, releaseRealClusters, watchSecondClaim } from './lab.ts'
import { type RunningManager, startAdapters, startFleet, startPools, startSentinels } from './managers.ts'
import { NAMESPACE, type Place } from './place.ts'
import type { Sighting } from './progress.ts'
import { type ClusterService, startProvider } from './provider.ts'
import type { Run } from './run.ts'
import { applySamples, followClaim, followResources, followRollout, followSentinels } from './sample-flow.ts'
import type { Screen } from './screen.ts'
import { startApi, startClusterForNow, startEventsNats } from './servers.ts'

/** What is up when all steps are done. */
export interface Up {
  readonly cluster: Cluster
  readonly apiUrl: string
  readonly managers: readonly RunningManager[]
  /** Of the last runs of the adapters' tasks. */
  readonly runsUrl: string
  readonly observations: readonly Sighting[]
  /** Path of the kubeconfig of a claimed cluster; undefined where there are no real ones. With `once` it is gone again. */
  readonly claimedKubeconfig: string | undefined
}

export interface Settings {
  readonly request: ClusterRequest
  /** Where the logs go. */
  readonly logs: string
  /** Nothing is to be looked at afterwards. */
  readonly once: boolean
  /** Whether a pool of real clusters is wanted; there is none beside a cluster that was there before. */
  readonly realClusters: boolean
}

/** Everything that `npm run up` does, in order: servers, managers, and what the samples show. */
export const bringUp = async (run: Run, screen: Screen, settings: Settings): Promise<Up> => {
  const { request, logs } = settings
  const scratch = await temporaryFolder('up')
  run.undo(undefined, () => rm(scratch, { recursive: true, force: true }))

  const cluster = await startClusterForNow(run, request)
  const place: Place = { run, screen, cluster, namespace: NAMESPACE, scratch, logs }
  const natsUrl = await startEventsNats(place)
  const provider = await startProvider(place, settings.realClusters)
  const { service } = provider
  const apiUrl = await startApi(place, natsUrl, provider.requiredAdapters)

  const sentinels = await startSentinels(place, apiUrl)
  const adapters = await startAdapters(place, apiUrl, ...provider.adapterFlags)
  const pools = await startPools(place, apiUrl)
  const fleet = natsUrl === undefined ? [] : await startFleet(place, service !== undefined)

  await applySamples(place, apiUrl, provider.manifests)
  const observations = await followResources(place, apiUrl)
  await followClaim(place)
  const hasFleet = fleet.length > 0
  const claimedKubeconfig = service && (await claimRealCluster(place, service, hasFleet, settings.once))
  const seeThemGone = service && settings.once ? await releaseAll(place, service) : undefined
  if (hasFleet) await followRollout(place)
  await seeThemGone?.()
  await followSentinels(place)
  const managers = [sentinels, adapters, ...pools, ...fleet]
  return { cluster, apiUrl, managers, runsUrl: adapters.runsUrl, observations, claimedKubeconfig }
}

const releaseAll = async (place: Place, { folder }: ClusterService): Promise<() => Promise<void>> => {
  await watchSecondClaim(place)
  return releaseRealClusters(place, folder)
}
