/**
 * Deletes the keys that were there at the start and that nothing wants. Each is read again before: Kubernetes says whether its
 * Deployment and its Device are really gone, and NATS takes the deletion only while the key is as it was at the start. Many at
 * once wait for a person. FLEET-3, FLEET-5.
 */
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Api } from '#operator/client/api.ts'
import type { DesiredStore } from '../nats/desired-store.ts'
import { compileSelection } from '../selection/selection.ts'
import { judgeTaints } from '../selection/taints.ts'
import type { FleetState } from '../state/fleet-state.ts'
import { decideOrphans, type Orphan, type OrphanVerdict } from '../state/orphans.ts'
import { deviceView } from '../state/views.ts'

export interface Collection {
  readonly verdict: OrphanVerdict
  readonly collected: readonly Orphan[]
  /** What turned out to be wanted after all. */
  readonly spared: readonly Orphan[]
}

/**
 * One pass. Only for who leads, and has converged.
 * @param release The value of the annotation by which a person releases the brake.
 * @throws ApiError, NetworkError, and what NATS answers; the next pass goes on
 */
export const collectOrphans = async (
  state: FleetState,
  api: Api,
  store: DesiredStore,
  release: string | undefined,
  now: Date,
): Promise<Collection> => {
  const verdict = decideOrphans(state.orphans(), state.seeded, release)
  const collected: Orphan[] = []
  const spared: Orphan[] = []
  if (verdict.verdict !== 'Collect') return { verdict, collected, spared }
  const isWanted = createLiveCheck(api, now)
  for (const orphan of verdict.orphans) {
    if (await isWanted(orphan)) {
      spared.push(orphan)
      continue
    }
    const { key, revision } = orphan
    const { outcome, seen } = await store.write({ kind: 'Delete', key, revision })
    state.desiredSeen(seen)
    if (outcome === 'Stored') collected.push(orphan)
    else spared.push(orphan)
  }
  return { verdict, collected, spared }
}

/** Asks Kubernetes itself whether something wants a key; each object once a pass. */
const createLiveCheck = (api: Api, now: Date): ((orphan: Orphan) => Promise<boolean>) => {
  const deployments = new Map<string, Promise<Deployment | undefined>>()
  const devices = new Map<string, Promise<Device | undefined>>()
  const once = <T>(known: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> => {
    const reading = known.get(key) ?? read()
    known.set(key, reading)
    return reading
  }
  return async ({ placement: { namespace, deployment: name, device } }) => {
    const read = () => api.get(Deployment, name, namespace)
    const deployment = await once(deployments, `${namespace}/${name}`, read)
    if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return false
    const found = await once(devices, device, () => api.get(Device, device))
    return found !== undefined && matchesDevice(deployment, found, now)
  }
}

/** What can't be read may be for it: it is left alone. */
const matchesDevice = ({ spec }: Deployment, found: Device, now: Date): boolean => {
  try {
    const device = deviceView(found, now)
    if (judgeTaints(device.taints, spec.tolerations ?? [], now).is === 'Evicted') return false
    return compileSelection(spec)(device).is !== 'NotSelected'
  } catch {
    return true
  }
}
