import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startCluster } from '../cluster/choose.ts'
import type { Cluster, ClusterRequest } from '../cluster/cluster.ts'
import { apiArgs, DEVELOPER } from '../muster/api.ts'
import { ADAPTERS, CLUSTERS, FLEET, POOLS, SENTINELS } from '../muster/managers.ts'
import { hyperfleetToken } from '../muster/tokens.ts'
import { findNats } from '../nats/find.ts'
import { startNats } from '../nats/nats.ts'
import { noContainers } from '../process/containers.ts'
import { temporaryFolder } from '../process/folder.ts'
import { freePort } from '../process/ports.ts'
import { operatorArgs, startAgents, startFleetNats } from './agents.ts'
import { followFleet, isRolledOut, isThere, removeDevices } from './fleet.ts'
import { untilGoal } from './goal.ts'
import { hyperfleet } from './hyperfleet.ts'
import { type Place, type RunningManager, startManager } from './managers.ts'
import { apply, type Manifest, missing, pointedAt, remove, render, resting } from './manifests.ts'
import { startMuster } from './muster.ts'
import { CLAIM, followPool, isFilled, isFree, isRefilled, POOL, type PoolSighting, removePool } from './pool.ts'
import type { Sighting } from './progress.ts'
import type { Run } from './run.ts'
import { createSamples, deleteAll, isGone, isReady, untilAll } from './sample-resources.ts'
import { DELETED } from './samples.ts'
import type { Screen } from './screen.ts'

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

export const NAMESPACE = 'hyperfleet-system'

const KUSTOMIZE = join(import.meta.dirname, '..', '..', 'kustomize')

/** Everything that `npm run up` does, in order. Each step says how it is undone as soon as it has done something. */
export const bringUp = async (run: Run, screen: Screen, { request, logs }: Settings): Promise<Up> => {
  const scratch = await temporaryFolder('up')
  run.undo(undefined, () => rm(scratch, { recursive: true, force: true }))

  const cluster = await run.step(
    'Find or start a cluster',
    async (note) => {
      const found = await startCluster({ request, say: note, signal: run.signal })
      if (found.ours) run.undo('Stopping the cluster', found.stop)
      return found
    },
    ({ context, kubeconfig }) => `${context} (${kubeconfig})`,
  )

  await run.step('Apply kustomize/overlays/dev', async () => {
    const overlay = (await render(cluster, join(KUSTOMIZE, 'overlays', 'dev'))).map(resting)
    await applyForNow(run, cluster, 'Removing what kustomize/overlays/dev added', overlay)
  })

  const natsUrl = await run.step(
    'Start NATS',
    (note) => startBroker(run, logs, note),
    (url) =>
      url ?? 'not to be had: the API delivers events by itself, and the fleet, whose agents need it, is left out',
  )

  const apiUrl = await run.step(
    'Start the HyperFleet API',
    async () => {
      const port = await freePort()
      const data = join(scratch, 'api')
      await mkdir(data)
      const home = { cluster, namespace: NAMESPACE, scratch }
      const args = await apiArgs(home, { port, storage: `--data-dir=${data}`, natsUrl })
      const child = await startMuster({ name: 'api', log: 'api', args, folder: logs })
      run.undo('Stopping the HyperFleet API', async () => void (await child.stop()))
      run.watch(child)
      return `http://127.0.0.1:${port}`
    },
    (url) => url,
  )

  const place = { run, cluster, namespace: NAMESPACE, scratch, logs }
  const sentinels = await run.step(
    'Start the manager of the Sentinels as its ServiceAccount',
    () => startManager(place, SENTINELS, `--hyperfleet-api-url=${apiUrl}`),
    ({ metricsUrl }) => metricsUrl,
  )

  const adapters = await run.step(
    'Start the manager of the adapters as its ServiceAccount',
    async () => {
      const runs = `127.0.0.1:${await freePort()}`
      const manager = await startManager(
        place,
        ADAPTERS,
        `--hyperfleet-api-url=${apiUrl}`,
        `--adapter-runs-bind-address=${runs}`,
      )
      return { ...manager, runsUrl: `http://${runs}/adapter/runs` }
    },
    ({ metricsUrl }) => metricsUrl,
  )

  const pools = await run.step(
    'Start the managers of pools and of their clusters as their ServiceAccounts',
    // One after the other: at the end they are stopped in the opposite order.
    async () => [
      await startManager(place, POOLS),
      await startManager(place, CLUSTERS, `--hyperfleet-api-url=${apiUrl}`),
    ],
    (both) => both.map(({ metricsUrl }) => metricsUrl).join(' and '),
  )

  const fleet = natsUrl === undefined ? [] : await startFleet(place, screen)

  await run.step('Apply kustomize/samples', async () => {
    const samples = (await render(cluster, join(KUSTOMIZE, 'samples'))).map(pointedAt(apiUrl, adapters.tokenFile))
    await applyForNow(run, cluster, 'Removing the samples', samples)
    // Its clusters go only while an adapter takes them down.
    if (!cluster.ours) run.undo('Deleting the sample pool', () => removePool(cluster, NAMESPACE))
  })

  await run.step('Wait until every AdapterTask takes events', async () => {
    const ready = ['--for=condition=Ready', '--timeout=60s']
    await cluster.kubectl(['wait', 'adaptertasks', '--all', `--namespace=${NAMESPACE}`, ...ready])
  })

  const token = await hyperfleetToken(cluster, DEVELOPER, NAMESPACE)
  const api = hyperfleet(apiUrl, token, run.signal)
  const resources = await run.step(
    'Create sample clusters and node pools',
    () => {
      if (!cluster.ours) run.undo('Deleting the sample clusters', () => deleteAll(apiUrl, token))
      return createSamples(api)
    },
    ({ length }) => `${length} resources`,
  )

  const ready = await run.step('Watch the adapters until every sample is Ready', () =>
    untilAll(run, screen, api, resources, isReady),
  )

  const left = await run.step(`Delete the cluster ${DELETED} and watch it and its node pool go`, async () => {
    const deleted = ready.find(({ resource }) => resource.name === DELETED)?.resource
    const leaving = resources.filter(({ id, owner_references: owner }) => [id, owner?.id].includes(deleted?.id))
    await api.remove(deleted?.href ?? '')
    await untilAll(run, screen, api, leaving, isGone)
    return ready.filter(({ resource }) => !leaving.some(({ id }) => id === resource.id))
  })

  const filled = await run.step(`Watch the pool ${POOL} until its three clusters are ready`, () =>
    untilPool(run, screen, cluster, undefined, isFilled),
  )

  const refilled = await run.step(`Claim a cluster of ${POOL} and watch the pool refill`, async () => {
    await apply(cluster, await render(cluster, join(KUSTOMIZE, 'samples', 'claim')))
    return untilPool(run, screen, cluster, filled, isRefilled)
  })

  await run.step('Delete the claim and watch its cluster go and its customization become free', async () => {
    await cluster.kubectl(['delete', 'clusterclaim', CLAIM, `--namespace=${NAMESPACE}`, '--wait=false'])
    await untilPool(run, screen, cluster, refilled, isFree)
  })

  await run.step('See the same in the status of every SentinelConfig', async () => {
    const satisfied = ['--for=jsonpath={.status.notReady}=0', '--timeout=60s']
    await cluster.kubectl(['wait', 'sentinelconfigs', '--all', `--namespace=${NAMESPACE}`, ...satisfied])
  })

  if (fleet.length > 0)
    await run.step('Roll greeter out to the devices in two batches', async () => {
      await applyForNow(run, cluster, 'Removing greeter', await render(cluster, join(KUSTOMIZE, 'samples', 'fleet')))
      await untilGoal(run, screen, (signal, seen) => followFleet(cluster, signal, seen, isRolledOut))
    })
  return {
    cluster,
    apiUrl,
    managers: [sentinels, adapters, ...pools, ...fleet],
    runsUrl: adapters.runsUrl,
    observations: left,
  }
}

/** Applies manifests; the undo removes those that were not there. Objects of a cluster that goes away need no removing. */
const applyForNow = async (run: Run, cluster: Cluster, undo: string, manifests: readonly Manifest[]): Promise<void> => {
  if (!cluster.ours) {
    const added = await missing(cluster, manifests)
    run.undo(undo, () => remove(cluster, added))
  }
  await apply(cluster, manifests)
}

/** The fleet's NATS, its operator, and three agents. */
const startFleet = async (place: Place, screen: Screen): Promise<readonly RunningManager[]> => {
  const { run, cluster, scratch, logs } = place
  const nats = await run.step(
    'Start a NATS for the fleet that knows each device by its key',
    () => startFleetNats(run, scratch, logs),
    ({ url }) => url,
  )
  // Devices are made from what agents tell, so they go after both.
  if (!cluster.ours) run.undo('Removing the devices', () => removeDevices(cluster))
  const manager = await run.step(
    'Start the manager of the fleet as its ServiceAccount',
    () => startManager(place, FLEET, ...operatorArgs(nats)),
    ({ metricsUrl }) => metricsUrl,
  )
  await run.step('Start three agents and wait until their devices are heard', async () => {
    await startAgents(run, nats, scratch, logs)
    await untilGoal(run, screen, (signal, seen) => followFleet(cluster, signal, seen, isThere))
  })
  return [manager]
}

const startBroker = async (run: Run, logs: string, note: (line: string) => void): Promise<string | undefined> => {
  const programs = findNats()
  if (programs !== undefined) {
    const nats = await startNats(programs, logs)
    run.undo('Stopping NATS', nats.stop)
    return nats.url
  }
  if ((await noContainers()) !== undefined) return undefined
  note('There is no nats-server on this machine: starting one in a container')
  const { startNatsContainer } = await import('../nats/container.ts')
  const nats = await startNatsContainer()
  run.undo('Stopping NATS', nats.stop)
  return nats.url
}

/** Follows the sample pool until it has reached the goal. */
const untilPool = (
  run: Run,
  screen: Screen,
  cluster: Cluster,
  last: PoolSighting | undefined,
  isDone: (sighting: PoolSighting) => boolean,
): Promise<PoolSighting> =>
  untilGoal(run, screen, (signal, onSighting) =>
    followPool({ cluster, namespace: NAMESPACE, last, signal, onSighting }, isDone),
  )
