/** The place that FleetState has for one Deployment on one device. */
import type { Placement } from '#apis/fleet.nationtech.io/kv/keys.ts'
import type { DesiredEntry, ReportedState } from './placement.ts'

export interface PlacementState {
  readonly key: string
  readonly placement: Placement
  readonly deployment: string
  isMatched: boolean
  /** This operator wrote its key, or saw that it matched while the key was there, or that its Deployment is being deleted: so it may delete the key. */
  wasWanted: boolean
  entry: DesiredEntry | undefined
  /** The newest that was seen under the key, while it matched, with the signatures of all keys of this operator. Only known while it runs. */
  lastSigned: DesiredEntry | undefined
  /** The slot that its Deployment named when it last matched: its key keeps it until it is gone. */
  lastSlot: string | undefined
  /** Of fleet-desired: what is older is stale. Deletions count. */
  entryRevision: number
  reported: ReportedState | undefined
  /** Of fleet-state: what is older is stale. Deletions count. */
  reportedRevision: number
}

/** With its key a device can write any number of reports. */
const MAX_PLACEMENTS_OF_DEVICE = 1_000

/** All slots, found by Deployment and by device. */
export class PlacementIndex {
  readonly #byDeployment = new Map<string, Map<string, PlacementState>>()
  readonly #byDevice = new Map<string, Map<string, PlacementState>>()

  get(deployment: string, device: string): PlacementState | undefined {
    return this.#byDeployment.get(deployment)?.get(device)
  }

  /** The slot, made when there is none. @param key In the buckets. */
  at(placement: Placement, key: string): PlacementState {
    const deployment = `${placement.namespace}/${placement.deployment}`
    const found = this.get(deployment, placement.device)
    if (found !== undefined) return found
    const slot: PlacementState = {
      key,
      placement,
      deployment,
      isMatched: false,
      wasWanted: false,
      entry: undefined,
      lastSigned: undefined,
      lastSlot: undefined,
      entryRevision: 0,
      reported: undefined,
      reportedRevision: 0,
    }
    within(this.#byDeployment, deployment).set(placement.device, slot)
    within(this.#byDevice, placement.device).set(deployment, slot)
    return slot
  }

  ofDeployment(deployment: string): Iterable<PlacementState> {
    return this.#byDeployment.get(deployment)?.values() ?? []
  }

  /** No more of the device are kept in memory. */
  isFull(device: string): boolean {
    return (this.#byDevice.get(device)?.size ?? 0) >= MAX_PLACEMENTS_OF_DEVICE
  }

  ofDevice(device: string): Iterable<PlacementState> {
    return this.#byDevice.get(device)?.values() ?? []
  }

  *all(): Iterable<PlacementState> {
    for (const slots of this.#byDeployment.values()) yield* slots.values()
  }

  remove({ deployment, placement }: PlacementState): void {
    without(this.#byDeployment, deployment, placement.device)
    without(this.#byDevice, placement.device, deployment)
  }
}

const within = <V>(outer: Map<string, Map<string, V>>, key: string): Map<string, V> => {
  const inner = outer.get(key) ?? new Map<string, V>()
  outer.set(key, inner)
  return inner
}

const without = <V>(outer: Map<string, Map<string, V>>, key: string, innerKey: string): void => {
  const inner = outer.get(key)
  inner?.delete(innerKey)
  if (inner?.size === 0) outer.delete(key)
}
