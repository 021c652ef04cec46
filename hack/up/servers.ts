/** The servers that the managers work with: a cluster, NATS and the HyperFleet API. Each step says how it is undone as soon as it has done something. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { startCluster } from '../cluster/choose.ts'
import type { Cluster, ClusterRequest } from '../cluster/cluster.ts'
import { apiArgs } from '../muster/api.ts'
import { findNats } from '../nats/find.ts'
import { startNats } from '../nats/nats.ts'
import { noContainers } from '../process/containers.ts'
import { freePort } from '../process/ports.ts'
import { render, resting } from './manifests.ts'
import { startMuster } from './muster.ts'
import { applyForNow, KUSTOMIZE, type Place } from './place.ts'
import type { Run } from './run.ts'

/** The cluster, with everything that the overlay for developers installs. */
export const startClusterForNow = async (run: Run, request: ClusterRequest): Promise<Cluster> => {
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
    await applyForNow({ run, cluster }, 'Removing what kustomize/overlays/dev added', overlay)
  })
  return cluster
}

/** NATS for events; undefined when there is none on this machine, nor containers. */
export const startEventsNats = ({ run, logs }: Place): Promise<string | undefined> =>
  run.step(
    'Start NATS',
    (note) => startBroker(run, logs, note),
    (url) =>
      url ?? 'not to be had: the API delivers events by itself, and the fleet, whose agents need it, is left out',
  )

const startBroker = async (run: Run, logs: string, note: (line: string) => void): Promise<string | undefined> => {
  const programs = findNats()
  if (programs !== undefined) {
    note('NATS listens on this machine alone, so it has no TLS; in a cluster it has: docs/decisions/nats-users.md')
    const nats = await startNats(programs, logs)
    run.undo('Stopping NATS', nats.stop)
    run.watch(nats.process(), 'NATS of events')
    return nats.url
  }
  if ((await noContainers()) !== undefined) return undefined
  note('There is no nats-server on this machine: starting one in a container')
  const { startNatsContainer } = await import('../nats/container.ts')
  const nats = await startNatsContainer()
  run.undo('Stopping NATS', nats.stop)
  return nats.url
}

/** The API, with a database of its own. @param requiredAdapters beside those of kustomize/overlays/dev. @returns its URL */
export const startApi = (
  place: Place,
  natsUrl: string | undefined,
  requiredAdapters: readonly string[],
): Promise<string> =>
  place.run.step(
    'Start the HyperFleet API',
    async () => {
      const { run, scratch, logs } = place
      const port = await freePort()
      const data = join(scratch, 'api')
      await mkdir(data)
      const args = await apiArgs(place, { port, storage: `--data-dir=${data}`, natsUrl, requiredAdapters })
      const child = await startMuster({ name: 'api', log: 'api', args, folder: logs })
      run.undo('Stopping the HyperFleet API', async () => void (await child.stop()))
      run.watch(child, 'the HyperFleet API')
      return `http://127.0.0.1:${port}`
    },
    (url) => url,
  )
