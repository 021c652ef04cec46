import { rm } from 'node:fs/promises'
import type { Cluster, ClusterRequest } from '../cluster/cluster.ts'
import { temporaryFolder } from '../process/folder.ts'
import { type RunningManager, startAdapters, startFleet, startPools, startSentinels } from './managers.ts'
import { NAMESPACE, type Place } from './place.ts'
import type { Sighting } from './progress.ts'
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
}

export interface Settings {
  readonly request: ClusterRequest
  /** Where the logs go. */
  readonly logs: string
}

/** Everything that `npm run up` does, in order: servers, managers, and what the samples show. */
export const bringUp = async (run: Run, screen: Screen, { request, logs }: Settings): Promise<Up> => {
  const scratch = await temporaryFolder('up')
  run.undo(undefined, () => rm(scratch, { recursive: true, force: true }))

  const cluster = await startClusterForNow(run, request)
  const place: Place = { run, screen, cluster, namespace: NAMESPACE, scratch, logs }
  const natsUrl = await startEventsNats(place)
  const apiUrl = await startApi(place, natsUrl)

  const sentinels = await startSentinels(place, apiUrl)
  const adapters = await startAdapters(place, apiUrl)
  const pools = await startPools(place, apiUrl)
  const fleet = natsUrl === undefined ? [] : [await startFleet(place)]

  await applySamples(place, apiUrl)
  const observations = await followResources(place, apiUrl)
  await followClaim(place)
  await followSentinels(place)
  if (fleet.length > 0) await followRollout(place)
  const managers = [sentinels, adapters, ...pools, ...fleet]
  return { cluster, apiUrl, managers, runsUrl: adapters.runsUrl, observations }
}
