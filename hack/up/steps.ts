import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { REGISTRATION } from '#controllers/clusterdeployment/labels.ts'
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
import { type Hyperfleet, hyperfleet, type Resource } from './hyperfleet.ts'
import { type Place, type RunningManager, startManager } from './managers.ts'
import { apply, type Manifest, missing, pointedAt, remove, render, resting } from './manifests.ts'
import { startMuster } from './muster.ts'
import { CLAIM, followPool, isFilled, isFree, isRefilled, POOL, type PoolSighting, removePool } from './pool.ts'
import { follow, progressLine, progressTable, type Sighting } from './progress.ts'
import type { Run } from './run.ts'
import { DELETED, SAMPLES, type Sample, TYPES } from './samples.ts'
import type { Screen } from './screen.ts'

/** What is up when all steps are done. */
export interface Up {
  readonly cluster: Cluster
  readonly apiUrl: string
  readonly managers: readonly RunningManager[]
  /** Of the last runs of the adapters' tasks. */
  readonly runsUrl: string
  readonly sightings: readonly Sighting[]
}

export interface Settings {
  readonly wanted: ClusterRequest
  /** Where the logs go. */
  readonly logs: string
}

export const NAMESPACE = 'hyperfleet-system'

const KUSTOMIZE = join(import.meta.dirname, '..', '..', 'kustomize')

/** How long the adapters may take to clean up at the end, in milliseconds. */
const CLEANUP_TIMEOUT_MS = 60_000

/** Everything that `npm run up` does, in order. Each step says how it is undone as soon as it has done something. */
export const bringUp = async (run: Run, screen: Screen, { wanted, logs }: Settings): Promise<Up> => {
  const scratch = await temporaryFolder('up')
  run.undo(undefined, () => rm(scratch, { recursive: true, force: true }))

  const cluster = await run.step(
    'Find or start a cluster',
    async (note) => {
      const found = await startCluster({ wanted, say: note, signal: run.signal })
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
    () => startManager(place, SENTINELS),
    ({ metricsUrl }) => metricsUrl,
  )

  const adapters = await run.step(
    'Start the manager of the adapters as its ServiceAccount',
    async () => {
      const runs = `127.0.0.1:${await freePort()}`
      const manager = await startManager(place, ADAPTERS, `--adapter-runs-bind-address=${runs}`)
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
    // Its clusters go as long as somebody takes them down.
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
    sightings: left,
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

const createSamples = async (api: Hyperfleet): Promise<readonly Resource[]> => {
  const created = new Map<Sample['name'], Resource>()
  for (const sample of SAMPLES) {
    const owner = sample.cluster === undefined ? undefined : created.get(sample.cluster)
    created.set(sample.name, await api.create(sample, owner))
  }
  return [...created.values()]
}

/** What the adapters have applied for them goes with them, so this needs the managers. */
const deleteAll = async (apiUrl: string, token: string): Promise<void> => {
  const signal = AbortSignal.timeout(CLEANUP_TIMEOUT_MS)
  const api = hyperfleet(apiUrl, token, signal)
  // Those of the pool go with it.
  const left = (await Promise.all(TYPES.map(api.list)))
    .flat()
    .filter(({ labels }) => labels?.[REGISTRATION] === undefined)
  await Promise.all(
    left.filter(({ owner_references: owner }) => owner === undefined).map(({ href }) => api.remove(href)),
  )
  await follow(
    api,
    left,
    (all) => all.every(isGone),
    signal,
    () => undefined,
  )
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

const isReady = ({ resource }: Sighting): boolean => resource.status.phase === 'Ready'
const isGone = (sighting: Sighting): boolean => sighting.isGone

/** Follows resources until each has reached the goal. */
const untilAll = (
  run: Run,
  screen: Screen,
  api: Hyperfleet,
  resources: readonly Resource[],
  isDone: (sighting: Sighting) => boolean,
): Promise<readonly Sighting[]> =>
  untilGoal(run, screen, (signal, onSighting) =>
    follow(
      api,
      resources,
      (all) => all.every(isDone),
      signal,
      (all, latest) => {
        const missing = all.filter((sighting) => !isDone(sighting)).map(progressLine)
        onSighting([progressLine(latest)], progressTable(all), missing)
      },
    ),
  )
