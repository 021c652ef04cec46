import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startCluster } from '../cluster/choose.ts'
import type { Cluster, Wanted } from '../cluster/cluster.ts'
import { writeTokenKubeconfig } from '../cluster/kubeconfig.ts'
import { findNats } from '../nats/find.ts'
import { startNats } from '../nats/nats.ts'
import { noContainers } from '../process/containers.ts'
import { temporaryFolder } from '../process/folder.ts'
import { freePort } from '../process/ports.ts'
import { type Hyperfleet, hyperfleet, type Resource } from './hyperfleet.ts'
import { apply, type Manifest, missing, pointedAt, remove, render, resting } from './manifests.ts'
import { startMuster } from './muster.ts'
import { isDone, observe, prepareToObserve, type Sighting } from './observer.ts'
import { pulseLine, pulseTable } from './pulse-table.ts'
import type { Run } from './run.ts'
import { SAMPLES, type Sample } from './samples.ts'
import type { Screen } from './screen.ts'
import { authArgs, clusterToken, hyperfleetToken } from './tokens.ts'

/** What is up when all steps are done. */
export interface Up {
  readonly cluster: Cluster
  readonly apiUrl: string
  readonly metricsUrl: string
  readonly sightings: readonly Sighting[]
}

export interface Settings {
  readonly wanted: Wanted
  /** Where the logs go. */
  readonly logs: string
}

export const NAMESPACE = 'hyperfleet-system'

const SENTINEL = 'hyperfleet-sentinel'
/** Of kustomize/overlays/dev: makes the samples and stands in for an adapter. */
export const DEVELOPER = 'hyperfleet-developer'

const KUSTOMIZE = join(import.meta.dirname, '..', '..', 'kustomize')

/** Until when every sample must have been pulsed twice and be Ready, in milliseconds. */
const GOAL_TIMEOUT = 180_000

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
    (url) => url ?? 'not to be had: the API delivers events by itself',
  )

  const apiUrl = await run.step(
    'Start the HyperFleet API',
    async () => {
      const port = await freePort()
      const data = join(scratch, 'api')
      await mkdir(data)
      const relay = natsUrl === undefined ? [] : [`--nats-url=${natsUrl}`]
      const auth = await authArgs(cluster, scratch, NAMESPACE, { [SENTINEL]: 'adapter', [DEVELOPER]: 'admin' })
      const args = [`--bind-address=127.0.0.1:${port}`, `--data-dir=${data}`, ...auth, ...relay]
      const child = await startMuster({ name: 'api', args, folder: logs })
      run.undo('Stopping the HyperFleet API', async () => void (await child.stop()))
      run.watch(child)
      return `http://127.0.0.1:${port}`
    },
    (url) => url,
  )

  const metricsUrl = await run.step(
    'Start the manager as its ServiceAccount',
    async () => {
      const kubeconfig = join(scratch, 'manager.kubeconfig')
      await writeTokenKubeconfig(kubeconfig, cluster.kubeconfig, {
        context: cluster.context,
        token: await clusterToken(cluster, SENTINEL, NAMESPACE),
        namespace: NAMESPACE,
      })
      const tokenFile = join(scratch, 'sentinel.token')
      await writeFile(tokenFile, await hyperfleetToken(cluster, SENTINEL, NAMESPACE), { mode: 0o600 })
      const args = [
        '--controllers=sentinel',
        `--kubeconfig=${kubeconfig}`,
        `--namespace=${NAMESPACE}`,
        `--hyperfleet-api-token-file=${tokenFile}`,
      ]
      const child = await startMuster({ name: 'manager', args, folder: logs })
      run.undo('Stopping the manager', async () => void (await child.stop()))
      run.watch(child)
      return child.metricsUrl
    },
    (url) => url,
  )

  await run.step('Apply kustomize/samples', async () => {
    const samples = (await render(cluster, join(KUSTOMIZE, 'samples'))).map(pointedAt(apiUrl))
    await applyForNow(run, cluster, 'Removing the samples', samples)
  })

  const api = hyperfleet(apiUrl, await hyperfleetToken(cluster, DEVELOPER, NAMESPACE), run.signal)
  const resources = await run.step(
    'Create sample clusters and node pools',
    async () => {
      await prepareToObserve(api)
      return createSamples(api)
    },
    ({ length }) => `${length} resources`,
  )

  const sightings = await run.step('Watch the pulses until every sample is Ready', () =>
    untilGoal(run, screen, api, resources),
  )

  await run.step('See the same in the status of every SentinelConfig', async () => {
    const satisfied = ['--for=jsonpath={.status.notReady}=0', '--timeout=60s']
    await cluster.kubectl(['wait', 'sentinelconfigs', '--all', `--namespace=${NAMESPACE}`, ...satisfied])
  })
  return { cluster, apiUrl, metricsUrl, sightings }
}

/** Applies manifests; the undo removes those that were not there. Objects of a cluster that goes away need no removing. */
const applyForNow = async (run: Run, cluster: Cluster, undo: string, manifests: readonly Manifest[]): Promise<void> => {
  if (!cluster.ours) {
    const added = await missing(cluster, manifests)
    run.undo(undo, () => remove(cluster, added))
  }
  await apply(cluster, manifests)
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

/** Observes for the rest of the run; resolves as soon as the goal is reached, with what was seen until then. */
const untilGoal = (
  run: Run,
  screen: Screen,
  api: Hyperfleet,
  resources: readonly Resource[],
): Promise<readonly Sighting[]> =>
  new Promise((resolve, reject) => {
    let waiting = resources.map(({ name }) => name)
    const timer = setTimeout(() => {
      const names = waiting.join(', ')
      reject(new Error(`after ${GOAL_TIMEOUT / 60_000} minutes these have not become Ready by pulses: ${names}`))
    }, GOAL_TIMEOUT)
    run.signal.addEventListener('abort', () => clearTimeout(timer))
    observe(api, resources, run.signal, (all, latest) => {
      screen.news([pulseLine(latest)], pulseTable(all))
      waiting = all.filter((sighting) => !isDone(sighting)).map(({ resource }) => resource.name)
      if (waiting.length > 0) return
      clearTimeout(timer)
      resolve(all)
    }).catch((error: Error) => {
      reject(error)
      run.abort(error)
    })
  })
