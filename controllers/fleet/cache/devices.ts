/**
 * The Devices: what agents tell of them in NATS, and what Kubernetes has of them. The leader brings the second up to the first.
 * A Device is made when its agent is heard: one that somebody deleted while the machine was off stays deleted.
 */

import { digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { parseDeviceKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { type Info, infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { Device as DEVICES } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Api, Desired } from '#operator/client/api.ts'
import { ApiError, isConflict } from '#operator/client/errors.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { isLater } from '#operator/model/resource-version.ts'
import { WindowError } from '../rollout/maintenance-windows.ts'
import type { FleetState, KeySeen } from '../state/fleet-state.ts'
import { standingOf } from '../state/placement.ts'
import { type DeviceView, deviceView } from '../state/views.ts'
import {
  type DeviceSituation,
  deviceFor,
  deviceStatusOf,
  KEEPER_ANNOTATION,
  withoutLabels,
} from '../status/device-status.ts'

/** Milliseconds between looks at the devices whose windows or taints make time matter. */
const LOOK_AGAIN = 10_000
/** Owns what the operator applies. */
const FIELD_MANAGER = 'muster-fleet'

export class Devices {
  readonly #state: FleetState
  readonly #clock: Clock
  readonly #keeper: string
  readonly #objects = new Map<string, Device>()
  readonly #infos = new Map<string, Info>()
  readonly #beats = new Map<string, Date>()
  readonly #offlineSince = new Map<string, number>()
  readonly #changed = new Set<string>()
  /** Those whose agent told something, went or came back. */
  readonly #told = new Set<string>()
  /** Those whose windows or taints make time matter. */
  readonly #timed = new Set<string>()
  #looked = 0

  /** @param keeper Of this operator: `<namespace>/<Lease>`. */
  constructor(state: FleetState, clock: Clock, keeper: string) {
    this.#state = state
    this.#clock = clock
    this.#keeper = keeper
  }

  seen(device: Device): void {
    const { name } = device.metadata
    this.#objects.set(name, device)
    this.#changed.add(name)
    this.#look(device)
  }

  gone({ metadata: { name } }: Device): void {
    this.#objects.delete(name)
    this.#changed.add(name)
    this.#state.deviceGone(name)
  }

  /** A key of fleet-info. @returns what is malformed */
  infoSeen({ key, bytes }: KeySeen): MalformedEntry | undefined {
    try {
      const name = parseDeviceKey(key)
      this.#told.add(name)
      if (bytes === undefined) this.#infos.delete(name)
      else this.#infos.set(name, infoCodec.decode(bytes).payload)
      return undefined
    } catch (error) {
      if (error instanceof MalformedEntry) return error
      throw error
    }
  }

  /** A key of fleet-heartbeat. @returns what is malformed */
  beatSeen(seen: KeySeen): MalformedEntry | undefined {
    const { key, bytes, at = this.#clock.now() } = seen
    if (bytes === undefined) this.#offlineSince.set(key, at.getTime())
    else {
      this.#offlineSince.delete(key)
      this.#beats.set(key, at)
    }
    const wasAlive = this.#state.isAlive(key)
    const malformed = this.#state.heartbeatSeen(seen)
    if (this.#state.isAlive(key) !== wasAlive) this.#told.add(key)
    return malformed
  }

  /** The store of the heartbeats was made anew: who was heard is offline from now on, until it is heard again. */
  beatsWiped(): void {
    const now = this.#clock.now().getTime()
    for (const name of this.#beats.keys()) if (this.#state.isAlive(name)) this.#offlineSince.set(name, now)
    this.#state.wiped('heartbeat')
  }

  /** The store of the infos was made anew. */
  infosWiped(): void {
    this.#infos.clear()
  }

  names(): Iterable<string> {
    return this.#objects.keys()
  }

  object(name: string): Device | undefined {
    return this.#objects.get(name)
  }

  info(name: string): Info | undefined {
    return this.#infos.get(name)
  }

  lastSeen(name: string): Date | undefined {
    return this.#beats.get(name)
  }

  /** Milliseconds since the epoch; undefined when it is online, or was offline already when this operator began. */
  offlineSince(name: string): number | undefined {
    return this.#offlineSince.get(name)
  }

  /** What time alone changes: windows of devices open and close, and taints are borne no longer. */
  again(): void {
    const now = monotonic(this.#clock)
    if (now - this.#looked < LOOK_AGAIN) return
    this.#looked = now
    for (const name of this.#timed) {
      const device = this.#objects.get(name)
      if (device === undefined) this.#timed.delete(name)
      else this.#look(device)
    }
  }

  /** The names whose Device may differ from what it should be: because of what its agent told, and because of all else. */
  changed(): { readonly told: ReadonlySet<string>; readonly others: ReadonlySet<string> } {
    const told = new Set(this.#told)
    const others = new Set([...this.#changed, ...this.#state.dirtyDevices()])
    this.#told.clear()
    this.#changed.clear()
    return { told, others }
  }

  /** Everything is to be looked at, as by one who begins to lead. */
  touchAll(): void {
    for (const name of [...this.#objects.keys(), ...this.#infos.keys()]) this.#changed.add(name)
  }

  /** Brings one Device up to what is known of it. @returns how many requests it took @throws ApiError, NetworkError */
  async bring(api: Api, name: string, now: Date): Promise<number> {
    let requests = 0
    const info = this.#infos.get(name)
    let present = this.#objects.get(name)
    const isAlive = this.#state.isAlive(name)
    const keeper = present?.metadata.annotations?.[KEEPER_ANNOTATION]
    if (keeper !== undefined ? keeper !== this.#keeper : info === undefined) return 0
    const wanted = info === undefined ? undefined : deviceFor(name, info, this.#keeper, present)
    if (wanted !== undefined && (present !== undefined || isAlive)) {
      present = await applied(api, wanted)
      this.#written(present)
      requests += 1
    }
    if (present === undefined) return requests
    const { metadata, status: before } = present
    const situation: DeviceSituation = {
      generation: metadata.generation,
      before,
      isAlive,
      lastSeen: this.#beats.get(name),
      offlineSince: dateOf(this.#offlineSince.get(name)),
      agentVersion: info?.agentVersion ?? before?.agentVersion,
      standings: [...this.#state.placedOn(name)].map((known) => standingOf(known.deployment, known.device, known)),
      contests: this.#state.contestsOn(name),
      now,
    }
    const status = deviceStatusOf(situation)
    if (before !== undefined && digestOf(status) === digestOf(before)) return requests
    // Guarded by the resourceVersion: `/status` takes any uid, and a new Device of this name must not get this one's.
    const body = { metadata: { resourceVersion: metadata.resourceVersion }, status: { taints: null, ...status } }
    await api.patch(DEVICES, { name, subresource: 'status', type: 'merge', body })
    return requests + 1
  }

  /** As our own write left it, unless the watch has told of what came after. */
  #written(device: Device): void {
    if (isLater(device, this.#objects.get(device.metadata.name))) this.seen(device)
  }

  #look(device: Device): void {
    const { metadata, spec, status } = device
    const isTimed = spec.windows !== undefined || (spec.taints ?? []).length + (status?.taints ?? []).length > 0
    if (isTimed) this.#timed.add(metadata.name)
    else this.#timed.delete(metadata.name)
    this.#state.deviceSeen(viewAt(device, this.#clock.now()))
  }
}

const dateOf = (milliseconds: number | undefined): Date | undefined =>
  milliseconds === undefined ? undefined : new Date(milliseconds)

/** A Device may name windows that nobody can keep: then none ever opens. */
const viewAt = (device: Device, now: Date): DeviceView => {
  try {
    return deviceView(device, now)
  } catch (error) {
    if (!(error instanceof WindowError)) throw error
    const { windows: _, ...spec } = device.spec
    return { ...deviceView({ ...device, spec }, now), opens: 'never' }
  }
}

/** Applies what the agent told, but leaves alone the labels that somebody else owns. @throws ApiError, NetworkError */
const applied = async (api: Api, wanted: Desired<Device>): Promise<Device> => {
  try {
    return await api.apply(DEVICES, wanted, { fieldManager: FIELD_MANAGER })
  } catch (error) {
    if (!(error instanceof ApiError) || !isConflict(error)) throw error
    const fields = (error.details.causes ?? []).flatMap(({ field }) => field ?? [])
    // What is left, the inventory and our annotations, is nobody else's.
    return api.apply(DEVICES, withoutLabels(wanted, fields), { fieldManager: FIELD_MANAGER, force: true })
  }
}
