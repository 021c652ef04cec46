/** The place that FleetState has for one Deployment on one device. */
import type { Placement } from '#apis/fleet.nationtech.io/kv/keys.ts'
import type { Entry, Said } from './placement.ts'

export interface Slot {
  readonly key: string
  readonly placement: Placement
  readonly deployment: string
  isMatched: boolean
  /** This operator wrote its key, or saw that it matched while the key was there, or that its Deployment is being deleted: so it may delete the key. */
  wasWanted: boolean
  entry: Entry | undefined
  /** Of fleet-desired: what is older is stale. Deletions count. */
  entryRevision: number
  said: Said | undefined
  /** Of fleet-state: what is older is stale. Deletions count. */
  saidRevision: number
}

/** All slots, found by Deployment and by device. */
export class Slots {
  readonly #byDeployment = new Map<string, Map<string, Slot>>()
  readonly #byDevice = new Map<string, Map<string, Slot>>()

  get(deployment: string, device: string): Slot | undefined {
    return this.#byDeployment.get(deployment)?.get(device)
  }

  /** The slot, made when there is none. @param key In the buckets. */
  at(placement: Placement, key: string): Slot {
    const deployment = `${placement.namespace}/${placement.deployment}`
    const found = this.get(deployment, placement.device)
    if (found !== undefined) return found
    const slot: Slot = {
      key,
      placement,
      deployment,
      isMatched: false,
      wasWanted: false,
      entry: undefined,
      entryRevision: 0,
      said: undefined,
      saidRevision: 0,
    }
    within(this.#byDeployment, deployment).set(placement.device, slot)
    within(this.#byDevice, placement.device).set(deployment, slot)
    return slot
  }

  ofDeployment(deployment: string): Iterable<Slot> {
    return this.#byDeployment.get(deployment)?.values() ?? []
  }

  ofDevice(device: string): Iterable<Slot> {
    return this.#byDevice.get(device)?.values() ?? []
  }

  *all(): Iterable<Slot> {
    for (const slots of this.#byDeployment.values()) yield* slots.values()
  }

  remove({ deployment, placement }: Slot): void {
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
