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

/** All slots, found by Deployment and by device. Most devices have one, which is kept without a map of its own. */
export class PlacementIndex {
  readonly #byDeployment = new Map<string, Set<PlacementState>>()
  readonly #byDevice = new Map<string, PlacementState | Map<string, PlacementState>>()

  get(deployment: string, device: string): PlacementState | undefined {
    const found = this.#byDevice.get(device)
    if (found instanceof Map) return found.get(deployment)
    return found?.deployment === deployment ? found : undefined
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
    this.#add(slot)
    return slot
  }

  ofDeployment(deployment: string): Iterable<PlacementState> {
    return this.#byDeployment.get(deployment) ?? []
  }

  /** No more of the device are kept in memory. */
  isFull(device: string): boolean {
    const found = this.#byDevice.get(device)
    return found instanceof Map && found.size >= MAX_PLACEMENTS_OF_DEVICE
  }

  ofDevice(device: string): Iterable<PlacementState> {
    const found = this.#byDevice.get(device)
    if (found === undefined) return []
    return found instanceof Map ? found.values() : [found]
  }

  *all(): Iterable<PlacementState> {
    for (const slots of this.#byDeployment.values()) yield* slots
  }

  remove(slot: PlacementState): void {
    const { deployment, placement } = slot
    if (this.get(deployment, placement.device) !== slot) return
    const ofDeployment = this.#byDeployment.get(deployment)
    ofDeployment?.delete(slot)
    if (ofDeployment?.size === 0) this.#byDeployment.delete(deployment)
    const ofDevice = this.#byDevice.get(placement.device)
    if (ofDevice instanceof Map) ofDevice.delete(deployment)
    if (!(ofDevice instanceof Map) || ofDevice.size === 0) this.#byDevice.delete(placement.device)
  }

  #add(slot: PlacementState): void {
    const { deployment, placement } = slot
    this.#byDeployment.set(deployment, (this.#byDeployment.get(deployment) ?? new Set<PlacementState>()).add(slot))
    const others = this.#byDevice.get(placement.device)
    if (others === undefined) this.#byDevice.set(placement.device, slot)
    else if (others instanceof Map) others.set(deployment, slot)
    else
      this.#byDevice.set(
        placement.device,
        new Map([
          [others.deployment, others],
          [deployment, slot],
        ]),
      )
  }
}
