/**
 * Deletes the keys that nothing needs any more and that no person deleted. Many at once wait for a person. Each that may go is
 * read again before: Kubernetes says whether its Deployment and its Device are really gone, and NATS takes the deletion only while
 * the key is as it was. FLEET-3, FLEET-5, FLEET-61.
 */

import type { HeldDeletions } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Api } from '#operator/client/api.ts'
import type { DesiredStore } from '../nats/desired-store.ts'
import { compileSelection } from '../selection/selection.ts'
import { judgeTaints } from '../selection/taints.ts'
import type { FleetState } from '../state/fleet-state.ts'
import { type UnneededKey, UnneededKeyBrake } from '../state/unneeded-keys.ts'
import { deviceView } from '../state/views.ts'
import type { LeaseAnnotations } from './lease-annotations.ts'

/** Keys that are read again and deleted at once. */
const MAX_CONCURRENT_DELETIONS = 16

export interface Collection {
  readonly collected: readonly UnneededKey[]
  /** What turned out to be needed after all. */
  readonly spared: readonly UnneededKey[]
  /** What waits for a person; undefined when nothing does. */
  readonly held: HeldDeletions | undefined
}

export interface CollectorOptions {
  readonly state: FleetState
  readonly api: Api
  /** Its agent is heard, so a Device that is gone is made again. */
  isHeard(device: string): boolean
  /** It is not known yet whether a person deleted this Deployment: its keys neither go nor count. */
  isDeletionUnexplained(deployment: string): boolean
  readonly lease: LeaseAnnotations
}

/** Of one leader: another one begins anew, and counts on from what this one has deleted. */
export class KeyCollector {
  readonly #options: CollectorOptions
  readonly #brake = new UnneededKeyBrake()
  /** As the Lease has it; undefined before it was read. */
  #record: string | undefined
  /** Those that nothing needed in the pass before: what vanishes together is counted before any of it is deleted. */
  #before: ReadonlySet<string> = new Set()

  constructor(options: CollectorOptions) {
    this.#options = options
  }

  /**
   * One pass. Only for the replica that leads, and has converged.
   * @param monotonicNow Milliseconds.
   * @throws ApiError, NetworkError, and what NATS answers; the next pass goes on
   */
  async collect(store: DesiredStore, now: Date, monotonicNow: number): Promise<Collection> {
    const { state, isHeard, isDeletionUnexplained, lease } = this.#options
    const times = { now: monotonicNow, epoch: now.getTime() - monotonicNow }
    const keys = state
      .unneededKeys()
      .filter(({ placement: { namespace, deployment } }) => !isDeletionUnexplained(`${namespace}/${deployment}`))
    // At the start, though nothing may be due for days: it counts from when it is read.
    if (this.#record === undefined) {
      const record = (await lease.readBrakeRecord()) ?? ''
      this.#brake.recall(record, monotonicNow)
      this.#record = record
    }
    const decide = (release: string | undefined) => this.#brake.decide(keys, state.keyCount, release, monotonicNow)
    let { free, held } = decide(undefined)
    if (held !== undefined) ({ free, held } = decide(await lease.readRelease()))
    const due = free.filter(
      ({ key, reason, placement }) => this.#before.has(key) && !(reason === 'DeviceGone' && isHeard(placement.device)),
    )
    this.#before = new Set(keys.map(({ key }) => key))
    // First: a leader that is killed in the middle of them has counted them all.
    const isOver = this.#record !== '' && !this.#brake.isCounting(monotonicNow)
    if (due.length > 0 || isOver) {
      const record = this.#brake.record(due, times)
      await lease.storeBrakeRecord(record)
      this.#record = record
    }
    const { api } = this.#options
    const isNeeded = createLiveCheck(api, now)
    const [collected, spared]: [UnneededKey[], UnneededKey[]] = [[], []]
    const next = due.values()
    const worker = async (): Promise<void> => {
      for (const unneeded of next) {
        const isDeleted = !(await isNeeded(unneeded)) && (await this.#delete(store, unneeded, monotonicNow))
        ;(isDeleted ? collected : spared).push(unneeded)
      }
    }
    await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT_DELETIONS, due.length) }, worker))
    return { collected, spared, held }
  }

  async #delete(store: DesiredStore, unneeded: UnneededKey, now: number): Promise<boolean> {
    const { key, revision } = unneeded
    const { outcome, seen } = await store.write({ kind: 'Delete', key, revision })
    if (outcome === 'Stored') this.#brake.deleted(unneeded, now)
    this.#options.state.desiredSeen(seen)
    return outcome === 'Stored'
  }
}

/** Asks Kubernetes itself whether something needs a key; each object once a pass. */
const createLiveCheck = (api: Api, now: Date): ((unneeded: UnneededKey) => Promise<boolean>) => {
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
