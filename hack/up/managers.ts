import { join } from 'node:path'
import {
  ADAPTERS,
  CLUSTER_DEVICES,
  CLUSTERS,
  FLEET,
  type Manager,
  POOLS,
  SENTINELS,
  settingOf,
} from '../muster/managers.ts'
import { freePort } from '../process/ports.ts'
import { type FleetNats, natsArgs, startAgents, startFleetNats } from './agents.ts'
import { DEVICE_LABEL, followFleet, isThere, removeDevices } from './fleet.ts'
import { untilGoal } from './goal.ts'
import { startMuster } from './muster.ts'
import type { Place } from './place.ts'

/** One that runs. */
export interface RunningManager {
  readonly subject: string
  readonly metricsUrl: string
  /** Open to every user of this machine. */
  readonly dashboardUrl: string
}

/** Starts one and waits until it is ready. @param more flags of its own */
const startManager = async (place: Place, manager: Manager, ...more: readonly string[]): Promise<RunningManager> => {
  const { run, logs } = place
  const { subject } = manager
  const { args, env, dashboardUrl } = await settingOf(place, manager, ...more)
  const child = await startMuster({ name: 'manager', log: subject.toLowerCase(), args, folder: logs, env })
  run.undo(`Stopping the manager of the ${subject}`, async () => void (await child.stop()))
  run.watch(child, `the manager of the ${subject}`)
  return { subject, metricsUrl: child.metricsUrl, dashboardUrl }
}

export const startSentinels = (place: Place, apiUrl: string): Promise<RunningManager> =>
  place.run.step(
    'Start the manager of the Sentinels as its ServiceAccount',
    () => startManager(place, SENTINELS, `--hyperfleet-api-url=${apiUrl}`),
    ({ metricsUrl }) => metricsUrl,
  )

/** The manager of the adapters, and where it shows the last runs of their tasks. @param more flags of its own */
export const startAdapters = (
  place: Place,
  apiUrl: string,
  ...more: readonly string[]
): Promise<RunningManager & { readonly runsUrl: string }> =>
  place.run.step(
    'Start the manager of the adapters as its ServiceAccount',
    async () => {
      const runs = `127.0.0.1:${await freePort()}`
      const flags = [`--hyperfleet-api-url=${apiUrl}`, `--adapter-runs-bind-address=${runs}`, ...more]
      return { ...(await startManager(place, ADAPTERS, ...flags)), runsUrl: `http://${runs}/adapter/runs` }
    },
    ({ metricsUrl }) => metricsUrl,
  )

export const startPools = (place: Place, apiUrl: string): Promise<readonly RunningManager[]> =>
  place.run.step(
    'Start the managers of pools and of their clusters as their ServiceAccounts',
    // One after the other: at the end they are stopped in the opposite order.
    async () => [
      await startManager(place, POOLS),
      await startManager(place, CLUSTERS, `--hyperfleet-api-url=${apiUrl}`),
    ],
    (both) => both.map(({ metricsUrl }) => metricsUrl).join(' and '),
  )

/** The fleet's NATS, its operator, and three agents. @param withClusters clusters that ask for it are devices, too */
export const startFleet = async (place: Place, withClusters: boolean): Promise<readonly RunningManager[]> => {
  const { run, screen, cluster, scratch, logs } = place
  const nats = await run.step(
    'Start a NATS for the fleet that knows each device by its key',
    () => startFleetNats(run, scratch, logs),
    ({ url }) => url,
  )
  // Devices are made from what agents tell, so they go after both.
  if (!cluster.ours) run.undo('Removing the devices', () => removeDevices(cluster))
  const manager = await run.step(
    'Start the manager of the fleet as its ServiceAccount',
    () =>
      startManager(
        place,
        FLEET,
        ...natsArgs(nats),
        `--fleet-signing-keys=${nats.signingKeys}`,
        `--fleet-device-keys=${nats.deviceKeys}`,
        `--device-labels=${DEVICE_LABEL.key}`,
      ),
    ({ metricsUrl }) => metricsUrl,
  )
  const more = withClusters ? [await startClusterDevices(place, nats)] : []
  await run.step('Start three agents and wait until their devices are heard and verify entries', async () => {
    await startAgents(run, nats, scratch, logs)
    await untilGoal(run, screen, (signal, seen) => followFleet(cluster, signal, seen, isThere))
  })
  return [manager, ...more]
}

const startClusterDevices = (place: Place, nats: FleetNats): Promise<RunningManager> =>
  place.run.step(
    'Start the manager of clusters as devices as its ServiceAccount',
    () => {
      const state = join(place.scratch, 'cluster-devices')
      const flags = [`--fleet-public-keys=${nats.publicKeys}`, `--cluster-device-state-dir=${state}`]
      return startManager(place, CLUSTER_DEVICES, ...natsArgs(nats), ...flags)
    },
    ({ metricsUrl }) => metricsUrl,
  )
