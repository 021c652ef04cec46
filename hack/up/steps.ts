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
import { follow, progressLine, progressTable, type Sighting } from './progress.ts'
import type { Run } from './run.ts'
import { DELETED, SAMPLES, type Sample, TYPES } from './samples.ts'
import type { Screen } from './screen.ts'
import { authArgs, clusterToken, hyperfleetToken } from './tokens.ts'

/** What is up when all steps are done. */
export interface Up {
  readonly cluster: Cluster
  readonly apiUrl: string
  readonly metricsUrls: readonly string[]
  readonly sightings: readonly Sighting[]
}

export interface Settings {
  readonly wanted: Wanted
  /** Where the logs go. */
  readonly logs: string
}

export const NAMESPACE = 'hyperfleet-system'

const SENTINEL = 'hyperfleet-sentinel'
const ADAPTER = 'hyperfleet-adapter'
/** Of kustomize/overlays/dev: makes the samples. */
export const DEVELOPER = 'hyperfleet-developer'

const KUSTOMIZE = join(import.meta.dirname, '..', '..', 'kustomize')

/** Until when every sample must be Ready, and the deleted one gone, in milliseconds. */
const GOAL_TIMEOUT = 180_000

/** How long the adapters may take to clean up at the end, in milliseconds. */
const FAREWELL = 60_000

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
      const auth = await authArgs(cluster, scratch, NAMESPACE, {
        [SENTINEL]: 'adapter',
        [ADAPTER]: 'adapter',
        [DEVELOPER]: 'admin',
      })
      const kinds = `--config=${join(KUSTOMIZE, 'overlays', 'dev', 'kinds.yaml')}`
      const args = [`--bind-address=127.0.0.1:${port}`, `--data-dir=${data}`, kinds, ...auth, ...relay]
      const child = await startMuster({ name: 'api', log: 'api', args, folder: logs })
      run.undo('Stopping the HyperFleet API', async () => void (await child.stop()))
      run.watch(child)
      return `http://127.0.0.1:${port}`
    },
    (url) => url,
  )

  const sentinels = await run.step(
    'Start the manager of the Sentinels as its ServiceAccount',
    () =>
      startManager(run, cluster, {
        who: 'Sentinels',
        controller: 'sentinel',
        account: SENTINEL,
        tokenFlag: '--hyperfleet-api-token-file',
        scratch,
        logs,
      }),
    ({ metricsUrl }) => metricsUrl,
  )

  const adapters = await run.step(
    'Start the manager of the adapters as its ServiceAccount',
    () =>
      startManager(run, cluster, {
        who: 'adapters',
        controller: 'adapter',
        account: ADAPTER,
        tokenFlag: '--adapter-files',
        scratch,
        logs,
      }),
    ({ metricsUrl }) => metricsUrl,
  )

  await run.step('Apply kustomize/samples', async () => {
    const samples = (await render(cluster, join(KUSTOMIZE, 'samples'))).map(pointedAt(apiUrl, adapters.tokenFile))
    await applyForNow(run, cluster, 'Removing the samples', samples)
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
    untilGoal(run, screen, api, resources, isReady),
  )

  const left = await run.step(`Delete the cluster ${DELETED} and watch it and its node pool go`, async () => {
    const deleted = ready.find(({ resource }) => resource.name === DELETED)?.resource
    const leaving = resources.filter(({ id, owner_references: owner }) => [id, owner?.id].includes(deleted?.id))
    await api.remove(deleted?.href ?? '')
    await untilGoal(run, screen, api, leaving, isGone)
    return ready.filter(({ resource }) => !leaving.some(({ id }) => id === resource.id))
  })

  await run.step('See the same in the status of every SentinelConfig', async () => {
    const satisfied = ['--for=jsonpath={.status.notReady}=0', '--timeout=60s']
    await cluster.kubectl(['wait', 'sentinelconfigs', '--all', `--namespace=${NAMESPACE}`, ...satisfied])
  })
  return { cluster, apiUrl, metricsUrls: [sentinels.metricsUrl, adapters.metricsUrl], sightings: left }
}

interface ManagerOf {
  readonly who: 'Sentinels' | 'adapters'
  readonly controller: 'sentinel' | 'adapter'
  /** Its ServiceAccount, and the flag that tells it where its token for the HyperFleet API is. */
  readonly account: string
  readonly tokenFlag: string
  readonly scratch: string
  readonly logs: string
}

/** As kustomize/sentinel and kustomize/adapter do it: a process each, with the rights of its own ServiceAccount. */
const startManager = async (
  run: Run,
  cluster: Cluster,
  { who, controller, account, tokenFlag, scratch, logs }: ManagerOf,
) => {
  const kubeconfig = join(scratch, `${controller}.kubeconfig`)
  await writeTokenKubeconfig(kubeconfig, cluster.kubeconfig, {
    context: cluster.context,
    token: await clusterToken(cluster, account, NAMESPACE),
    namespace: NAMESPACE,
  })
  const tokenFile = join(scratch, `${controller}.token`)
  await writeFile(tokenFile, await hyperfleetToken(cluster, account, NAMESPACE), { mode: 0o600 })
  const args = [
    `--controllers=${controller}`,
    `--kubeconfig=${kubeconfig}`,
    `--namespace=${NAMESPACE}`,
    `${tokenFlag}=${tokenFile}`,
  ]
  const child = await startMuster({ name: 'manager', log: who.toLowerCase(), args, folder: logs })
  run.undo(`Stopping the manager of the ${who}`, async () => void (await child.stop()))
  run.watch(child)
  return { metricsUrl: child.metricsUrl, tokenFile }
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

/** What the adapters have applied for them goes with them, so this needs the managers. */
const deleteAll = async (apiUrl: string, token: string): Promise<void> => {
  const signal = AbortSignal.timeout(FAREWELL)
  const api = hyperfleet(apiUrl, token, signal)
  const left = (await Promise.all(TYPES.map(api.list))).flat()
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

const isReady = ({ resource }: Sighting): boolean => resource.status.phase === 'Ready'
const isGone = (sighting: Sighting): boolean => sighting.isGone

/** Follows resources until each has reached the goal. */
const untilGoal = async (
  run: Run,
  screen: Screen,
  api: Hyperfleet,
  resources: readonly Resource[],
  isDone: (sighting: Sighting) => boolean,
): Promise<readonly Sighting[]> => {
  const limit = AbortSignal.timeout(GOAL_TIMEOUT)
  let last: readonly Sighting[] = resources.map((resource) => ({ resource, isGone: false }))
  try {
    const signal = AbortSignal.any([run.signal, limit])
    return await follow(
      api,
      resources,
      (all) => all.every(isDone),
      signal,
      (all, latest) => {
        last = all
        screen.news([progressLine(latest)], progressTable(all))
      },
    )
  } catch (error) {
    if (!limit.aborted) throw error
    const waiting = last.filter((sighting) => !isDone(sighting)).map(progressLine)
    throw new Error(`after ${GOAL_TIMEOUT / 60_000} minutes ${waiting.join('; ')}`, { cause: error })
  }
}
