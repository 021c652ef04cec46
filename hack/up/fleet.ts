/** The sample fleet as `npm run up` shows it: three devices, and a Deployment that comes to them in two batches. */
import { setTimeout as delay } from 'node:timers/promises'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { loadTransport } from '#operator/client/transport.ts'
import { findCondition, isTrue } from '#operator/model/conditions.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { OnSighting } from './goal.ts'

export const DEVICES = ['gate-1', 'gate-2', 'gate-3'] as const

/** What the Deployment of kustomize/samples/fleet selects. */
export const DEVICE_LABEL = { key: 'example.com/role', value: 'greeter' } as const

/** The Deployment of kustomize/samples/fleet. */
const GREETER = { name: 'greeter', namespace: 'default' } as const

/** What has been seen of the fleet. */
export interface FleetSighting {
  /** The name of each device that was heard of with how it stands. */
  readonly devices: ReadonlyMap<string, string>
  /** The devices that are heard, sign what they say, and take only what the operator has signed. */
  readonly well: number
  /** How the Deployment stands; undefined while there is none. */
  readonly deployment: string | undefined
  readonly isRolledOut: boolean
}

export const isThere = ({ well }: FleetSighting): boolean => well === DEVICES.length
export const isRolledOut = (sighting: FleetSighting): boolean => sighting.isRolledOut

/** What has changed, a line each. */
const describeFleetChanges = (before: FleetSighting | undefined, now: FleetSighting): readonly string[] => {
  const devices = [...now.devices].filter(([name, stands]) => before?.devices.get(name) !== stands)
  const isSame = now.deployment === undefined || now.deployment === before?.deployment
  return [...(isSame ? [] : [deploymentLine(now)]), ...devices.map(deviceLine)]
}

/** How it stands, for a screen that is redrawn. */
const fleetPicture = (now: FleetSighting): readonly string[] => [
  deploymentLine(now),
  ...[...now.devices].map(deviceLine),
]

const deviceLine = ([name, stands]: readonly [string, string]): string => `device/${name} ${stands}`
const deploymentLine = ({ deployment }: FleetSighting): string =>
  `deployment.fleet.nationtech.io/${GREETER.name} is ${deployment ?? 'not there'}`

/** Between two looks at the cluster. */
const POLL_INTERVAL_MS = 300

/** Tells what becomes of the fleet until the goal is reached. @throws the signal's reason */
export const followFleet = async (
  { kubeconfig, context }: Cluster,
  signal: AbortSignal,
  onSighting: OnSighting,
  isDone: (sighting: FleetSighting) => boolean,
): Promise<void> => {
  const transport = await loadTransport({ kubeconfig, context })
  const api = createApi(transport, { signal })
  try {
    for (let before: FleetSighting | undefined; ; ) {
      const now = await look(api)
      const lines = describeFleetChanges(before, now)
      if (lines.length > 0) onSighting(lines, fleetPicture(now))
      if (isDone(now)) return
      before = now
      await delay(POLL_INTERVAL_MS, undefined, { signal })
    }
  } finally {
    await transport.close()
  }
}

const look = async (api: Api): Promise<FleetSighting> => {
  const found = await Promise.all(DEVICES.map((name) => api.get(Device, name)))
  const devices = found.filter((device) => device !== undefined)
  const deployment = await api.get(Deployment, GREETER.name, GREETER.namespace)
  const stands = new Map(devices.map((device) => [device.metadata.name, standsAs(device)]))
  return {
    devices: stands,
    well: devices.filter(isWell).length,
    deployment: deployment && progressOf(deployment),
    // The Devices are written after the Deployment.
    isRolledOut:
      deployment !== undefined && isDeployed(deployment) && DEVICES.every((name) => stands.get(name) === RUNS),
  }
}

const isWell = ({ status }: Device): boolean =>
  ['Ready', 'EntriesVerified', 'InfoVerified'].every((type) => isTrue(status?.conditions, type))

const RUNS = `runs ${GREETER.name}`

const standsAs = ({ status }: Device): string => {
  if (!isTrue(status?.conditions, 'Ready')) return 'is not heard'
  if (!isTrue(status?.conditions, 'EntriesVerified')) return 'does not say that it verifies entries'
  if (!isTrue(status?.conditions, 'InfoVerified')) return 'signs nothing of what it says'
  const { succeeded = 0, failed = 0, pending = 0 } = status?.deployments ?? {}
  if (failed > 0) return 'failed'
  if (pending > 0) return 'is being updated'
  return succeeded > 0 ? RUNS : 'is online'
}

const progressOf = ({ status }: Deployment): string => {
  const reason = findCondition(status?.conditions, 'Ready')?.reason ?? 'New'
  const { batch = 'none', ready = 'none' } = status ?? {}
  return `${reason}: batch ${batch}, ${ready} devices run it`
}

/** Every device of the sample runs it: with none matched a Deployment is Ready too. */
const isDeployed = ({ metadata, status }: Deployment): boolean =>
  status?.observedGeneration === metadata.generation &&
  status?.rollout?.phase === 'Inactive' &&
  status.aggregate?.succeeded === DEVICES.length &&
  isTrue(status.conditions, 'Ready')

/** Deletes what the operator made for the agents, once both have ended. */
export const removeDevices = async ({ kubectl }: Cluster): Promise<void> => {
  await kubectl(['delete', 'devices.fleet.nationtech.io', ...DEVICES, '--ignore-not-found', '--timeout=60s'])
}
