/**
 * Devices: what their agents report in NATS, and the objects in Kubernetes. The leader updates the objects from the reports.
 * A Device is created when its agent is heard, so one that was deleted while the machine was off stays deleted. FLEET-52.
 */

import type { DeviceKeyFolder } from '#apis/fleet.nationtech.io/kv/device-keys.ts'
import { digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { parseDeviceKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import type { Info } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { Device as DEVICES } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Api, Desired } from '#operator/client/api.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { isLater } from '#operator/model/resource-version.ts'
import type { FleetState } from '../state/fleet-state.ts'
import type { KeyUpdate } from '../state/key-update.ts'
import { placementPhase } from '../state/placement.ts'
import {
  type AcceptedInfo,
  buildDevice,
  buildDeviceStatus,
  type DeviceStatusInput,
  isWritten,
  lastSignedOf,
  OPERATOR_ANNOTATION,
} from '../status/device-status.ts'
import { knowsKey } from '../status/entries-verified.ts'
import { applyDevice, FIELD_MANAGER } from './apply-device.ts'
import { readClusterOfDevice } from './cluster-of-device.ts'
import { viewOfDevice } from './device-view.ts'
import { InfoCache } from './infos.ts'
import { chooseLabels, labelsAppliedBy } from './own-labels.ts'

/** Milliseconds between looks at the devices whose windows or taints make time matter. */
const RECHECK_INTERVAL_MS = 10_000

export class DeviceCache {
  readonly #state: FleetState
  readonly #clock: Clock
  readonly #operatorId: string
  readonly #ownLabels: readonly string[]
  readonly #objects = new Map<string, Device>()
  readonly #infos: InfoCache
  readonly #heartbeats = new Map<string, Date>()
  readonly #offlineSince = new Map<string, number>()
  readonly #changed = new Set<string>()
  /** Devices whose agent reported something, or went offline or online. */
  readonly #urgent = new Set<string>()
  /** Those whose windows or taints make time matter. */
  readonly #timed = new Set<string>()
  #recheckedAt = 0

  /**
   * @param keeper Of this operator: `<namespace>/<Lease>`.
   * @param ownLabels Labels that devices choose themselves.
   * @param keys By which devices sign what they say; undefined where that is not asked for.
   */
  constructor(
    state: FleetState,
    clock: Clock,
    keeper: string,
    ownLabels: readonly string[] = [],
    keys?: Pick<DeviceKeyFolder, 'keyOf'>,
  ) {
    this.#infos = new InfoCache(keys)
    this.#state = state
    this.#clock = clock
    this.#operatorId = keeper
    this.#ownLabels = ownLabels
  }

  seen(device: Device): void {
    const { name } = device.metadata
    this.#objects.set(name, device)
    this.#changed.add(name)
    this.#refresh(device)
  }

  deleted({ metadata: { name } }: Device): void {
    this.#objects.delete(name)
    this.#infos.forget(name)
    this.#changed.add(name)
    this.#state.deviceDeleted(name)
  }

  /** A key of fleet-info. @returns what is malformed */
  infoSeen(update: KeyUpdate): MalformedEntry | undefined {
    try {
      const name = parseDeviceKey(update.key)
      this.#urgent.add(name)
      this.#infos.seen(name, update)
      return undefined
    } catch (error) {
      if (error instanceof MalformedEntry) return error
      throw error
    }
  }

  /** A key of fleet-heartbeat. @returns what is malformed */
  heartbeatSeen(seen: KeyUpdate): MalformedEntry | undefined {
    const { key, bytes, problem, at = this.#clock.now() } = seen
    if (problem !== undefined) return problem
    if (bytes === undefined) this.#offlineSince.set(key, at.getTime())
    else {
      this.#offlineSince.delete(key)
      this.#heartbeats.set(key, at)
    }
    const wasAlive = this.#state.isAlive(key)
    const malformed = this.#state.heartbeatSeen(seen)
    if (this.#state.isAlive(key) !== wasAlive) this.#urgent.add(key)
    return malformed
  }

  /** The bucket of heartbeats was made anew: a device that was heard is offline from now on, until it is heard again. */
  heartbeatBucketRecreated(): void {
    const now = this.#clock.now().getTime()
    for (const name of this.#heartbeats.keys()) if (this.#state.isAlive(name)) this.#offlineSince.set(name, now)
    this.#state.bucketRecreated('heartbeat')
  }

  /** The store of the infos was made anew. */
  infoBucketRecreated(): void {
    this.#infos.clear()
  }

  names(): Iterable<string> {
    return this.#objects.keys()
  }

  object(name: string): Device | undefined {
    return this.#objects.get(name)
  }

  /** What its agent says, as far as it is known to be its own. FLEET-123. */
  info(name: string): Info | undefined {
    return this.#infos.accepted(name, lastSignedOf(this.#objects.get(name)))
  }

  /** Its agent says something, whether or not that is taken. */
  saysAnything(name: string): boolean {
    return this.#infos.has(name)
  }

  /** These devices have other keys. FLEET-125. */
  keysChanged(names: readonly string[]): void {
    this.#infos.keysChanged(names)
    for (const name of names) this.#changed.add(name)
  }

  lastSeen(name: string): Date | undefined {
    return this.#heartbeats.get(name)
  }

  counts() {
    const alive = [...this.names()].filter((name) => this.#state.isAlive(name)).length
    return { devices: this.#objects.size, alive }
  }

  /** How many take only what a key that signs has signed; undefined where nothing is signed. FLEET-105. */
  countVerifying() {
    const { ids } = this.#state.signer
    if (ids.length === 0) return undefined
    const infos = [...this.#infos.names()].flatMap((name) => this.info(name) ?? [])
    const verifying = infos.filter((info) => knowsKey(ids, info)).length
    return { verifying, others: infos.length - verifying }
  }

  /** How many of the devices that were looked at say something, by what is known of its writer; undefined where that is not asked for. FLEET-124. */
  countInfos() {
    return this.#infos.counts((name) => lastSignedOf(this.#objects.get(name)))
  }

  /** How many entries they refuse, because no key that they know has signed them; undefined where nothing is signed. FLEET-105. */
  countUnverified() {
    return this.#state.signer.ids.length === 0 ? undefined : this.#state.countUnverified()
  }

  /** Milliseconds since the epoch; undefined when it is online, or was offline already when this operator began. */
  offlineSince(name: string): number | undefined {
    return this.#offlineSince.get(name)
  }

  /** What time alone changes: windows of devices open and close, and taints are borne no longer. */
  recheckTimed(): void {
    const now = monotonic(this.#clock)
    if (now - this.#recheckedAt < RECHECK_INTERVAL_MS) return
    this.#recheckedAt = now
    for (const name of this.#timed) {
      const device = this.#objects.get(name)
      if (device === undefined) this.#timed.delete(name)
      else this.#refresh(device)
    }
  }

  /** The names whose Device may differ from what it should be: because of what its agent reported (urgent), and because of anything else. */
  takeChanged(): { readonly urgent: ReadonlySet<string>; readonly others: ReadonlySet<string> } {
    const urgent = new Set(this.#urgent)
    const others = new Set([...this.#changed, ...this.#state.takeDirtyDevices()])
    this.#urgent.clear()
    this.#changed.clear()
    return { urgent, others }
  }

  /** Everything is to be looked at, as by a replica that begins to lead. */
  markAllChanged(): void {
    for (const name of [...this.#objects.keys(), ...this.#infos.names()]) this.#changed.add(name)
  }

  /** Brings one Device up to what is known of it. @returns how many requests it took @throws ApiError, NetworkError */
  async reconcile(api: Api, name: string, now: Date): Promise<number> {
    let requests = 0
    let present = this.#objects.get(name)
    const verdict = this.#infos.verdict(name, lastSignedOf(present))
    const info = this.info(name)
    const isAlive = this.#state.isAlive(name)
    const keeper = present?.metadata.annotations?.[OPERATOR_ANNOTATION]
    if (keeper !== undefined ? keeper !== this.#operatorId : info === undefined) return 0
    const accepted = info && { info, last: verdict?.last }
    const isOpen = accepted !== undefined && !isWritten(accepted, this.#ownLabels, present)
    if (isOpen && (present !== undefined || isAlive)) {
      const desired = await this.#build(api, name, accepted, present)
      if (desired === undefined) return requests
      present = await applyDevice(api, desired)
      this.#written(present)
      requests += 1
    }
    if (present === undefined) return requests
    const { metadata, status: before } = present
    const input: DeviceStatusInput = {
      generation: metadata.generation,
      before,
      isAlive,
      lastSeen: this.#heartbeats.get(name),
      offlineSince: toDate(this.#offlineSince.get(name)),
      agentVersion: info?.agentVersion ?? before?.agentVersion,
      phases: [...this.#state.placedOn(name)].map((known) => placementPhase(known.deployment, known.device, known)),
      slotConflicts: this.#state.slotConflictsOn(name),
      info,
      verdict,
      signing: this.#state.signer.ids,
      now,
    }
    const status = buildDeviceStatus(input)
    if (before !== undefined && digestOf(status) === digestOf(before)) return requests
    // Guarded by the resourceVersion: `/status` takes any uid, and a new Device of this name must not get this one's.
    await api.patchIfUnchanged(DEVICES, present, { status: { taints: null, ...status } }, 'status')
    return requests + 1
  }

  /** What its agent says of it, as far as that is taken; undefined when no Device is made for it. @throws ApiError, NetworkError */
  async #build(
    api: Api,
    name: string,
    accepted: AcceptedInfo,
    present: Device | undefined,
  ): Promise<Desired<Device> | undefined> {
    const { info } = accepted
    const cluster = await readClusterOfDevice(api, info)
    if (present === undefined && cluster === 'Forgotten') return undefined
    const allowed = this.#ownLabels
    // The cache has no owners of fields.
    const stored = present === undefined || allowed.includes('*') ? undefined : await api.get(DEVICES, name)
    const labels = chooseLabels({
      name,
      info,
      cluster: cluster === 'Forgotten' ? undefined : cluster,
      allowed,
      written: stored === undefined ? {} : labelsAppliedBy(FIELD_MANAGER, stored),
    })
    return buildDevice({
      name,
      accepted,
      allowed,
      labels,
      operator: this.#operatorId,
      resourceVersion: present?.metadata.resourceVersion,
    })
  }

  /** As our own write left it, unless the watch has shown a later version. */
  #written(device: Device): void {
    if (isLater(device, this.#objects.get(device.metadata.name))) this.seen(device)
  }

  #refresh(device: Device): void {
    const { metadata, spec, status } = device
    const isTimed = spec.windows !== undefined || (spec.taints ?? []).length + (status?.taints ?? []).length > 0
    if (isTimed) this.#timed.add(metadata.name)
    else this.#timed.delete(metadata.name)
    this.#state.deviceSeen(viewOfDevice(device, this.#clock.now()))
  }
}

const toDate = (milliseconds: number | undefined): Date | undefined =>
  milliseconds === undefined ? undefined : new Date(milliseconds)
