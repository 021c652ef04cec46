/**
 * What the operator knows of the fleet, and what follows from it. No I/O, and every update is synchronous:
 *
 *   fleet-desired ─ seed, desiredSeen ─┐                 ┌─► writes()     keys to put and delete, each with its bytes
 *   Deployments ─── deploymentSeen ────┤                 ├─► dirty()      Deployments whose status may have changed
 *   Devices ─────── deviceSeen ────────┼─► FleetState ───┼─► aggregate()  how the devices of one do
 *   fleet-state ─── stateSeen ─────────┤                 ├─► contention() with whom it shares its slot
 *   heartbeats ──── heartbeatSeen ─────┘                 └─► orphans()    keys that were there at the start, unwanted
 *
 * Order: what is told comes in any; `writes` and `orphans` are asked only once the seed and every other source was replayed,
 * because what is not read yet looks as if it were gone. FLEET-2, FLEET-7, FLEET-10.
 */

import { equalBytes } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { parseDeviceKey, parsePlacementKey, placementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { desiredCodec, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Aggregate } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { buildAggregate } from './aggregate.ts'
import type { Orphan } from './orphans.ts'
import { type DesiredEntry, decideWrite, isMatched, type PlacementFacts } from './placement.ts'
import { PlacementIndex, type PlacementState } from './placement-state.ts'
import { type ConflictCounts, findSlotConflict, type SlotConflict, SlotConflicts } from './slot-conflicts.ts'
import type { DeploymentView, DeviceView } from './views.ts'

/** A key with its value as a bucket has it; no bytes: the key was deleted. */
export interface KeyUpdate {
  readonly key: string
  readonly bytes: Uint8Array | undefined
  /** Of the bucket. What is not newer than what was seen of the key changes nothing, but 0 does: nothing is left of the key, not even its deletion. */
  readonly revision: number
  /** When it was written, by the clock of the server. */
  readonly at?: Date
}

/** A change of fleet-desired. It fails when the key has another revision by now; then what is there comes as `desiredSeen`. */
export type Write =
  | { readonly kind: 'Put'; readonly key: string; readonly bytes: Uint8Array; readonly revision: number }
  | { readonly kind: 'Delete'; readonly key: string; readonly revision: number }

/** What is known of a Deployment on a device that it matches. */
export type MatchedPlacement = PlacementFacts & { readonly deployment: DeploymentView; readonly device: DeviceView }

export class FleetState {
  readonly #deployments = new Map<string, DeploymentView>()
  readonly #devices = new Map<string, DeviceView>()
  readonly #alive = new Set<string>()
  readonly #beats = new Map<string, number>()
  readonly #slots = new PlacementIndex()
  readonly #changed = new Set<PlacementState>()
  readonly #slotConflicts = new SlotConflicts()
  /** Devices whose contests may be others than those that are counted. */
  readonly #recount = new Set<string>()
  readonly #dirty = new Set<string>()
  readonly #dirtyDevices = new Set<string>()
  /** The value that was read last, by Deployment. */
  readonly #lastDecoded = new Map<string, Pick<DesiredEntry, 'bytes' | 'desired'>>()
  #seeded = 0

  /** The keys of fleet-desired at the start. @returns what is malformed, to be logged and counted */
  seed(keys: Iterable<KeyUpdate>): readonly MalformedEntry[] {
    const malformed: MalformedEntry[] = []
    for (const seen of keys) {
      const problem = this.#desired(seen, true)
      if (problem !== undefined) malformed.push(problem)
    }
    return malformed
  }

  /** How many keys were there at the start. */
  get seeded(): number {
    return this.#seeded
  }

  /** Also when only its rollout or its revisions changed. */
  deploymentSeen(deployment: DeploymentView): void {
    this.#freeSlot(deployment.key)
    this.#deployments.set(deployment.key, deployment)
    for (const device of this.#devices.values()) this.#match(deployment, device)
    for (const slot of this.#slots.ofDeployment(deployment.key)) this.#rematch(slot)
    this.#dirty.add(deployment.key)
  }

  deploymentDeleted(key: string): void {
    this.#freeSlot(key)
    if (!this.#deployments.delete(key)) return
    for (const slot of this.#slots.ofDeployment(key)) this.#unmatch(slot)
    this.#dirty.delete(key)
  }

  deviceSeen(device: DeviceView): void {
    this.#devices.set(device.name, device)
    this.#dirtyDevices.add(device.name)
    for (const deployment of this.#deployments.values()) this.#match(deployment, device)
    for (const slot of this.#slots.ofDevice(device.name)) this.#rematch(slot)
  }

  deviceDeleted(name: string): void {
    if (!this.#devices.delete(name)) return
    for (const slot of this.#slots.ofDevice(name)) this.#unmatch(slot)
  }

  /** A key of fleet-desired, by whomever it was written. @returns what is malformed, to be logged and counted */
  desiredSeen(seen: KeyUpdate): MalformedEntry | undefined {
    return this.#desired(seen, false)
  }

  /** A key of fleet-state. A malformed value says nothing, as after a restart. @returns what is malformed */
  stateSeen({ key, bytes, revision }: KeyUpdate): MalformedEntry | undefined {
    return skipMalformed(() => {
      const slot = this.#slots.at(parsePlacementKey(key), key)
      if (revision <= slot.reportedRevision) return
      slot.reportedRevision = revision
      slot.reported = undefined
      try {
        if (bytes !== undefined) slot.reported = { state: stateCodec.decode(bytes).payload, revision }
      } finally {
        this.#markChanged(slot)
      }
    })
  }

  /** A key of fleet-heartbeat; without bytes the device is offline. @returns what is malformed */
  heartbeatSeen({ key, bytes, revision }: KeyUpdate): MalformedEntry | undefined {
    return skipMalformed(() => {
      const device = parseDeviceKey(key)
      if (revision <= (this.#beats.get(device) ?? 0)) return
      this.#beats.set(device, revision)
      if (this.#alive.has(device) === (bytes !== undefined)) return
      if (bytes === undefined) this.#alive.delete(device)
      else this.#alive.add(device)
      this.#dirtyDevices.add(device)
      for (const slot of this.#slots.ofDevice(device)) this.#markChanged(slot)
    })
  }

  /** The store of a bucket was made anew: what was known of it is gone, and its revisions begin again. */
  bucketRecreated(bucket: 'desired' | 'state' | 'heartbeat'): void {
    if (bucket === 'heartbeat') {
      for (const device of this.#alive) this.#dirtyDevices.add(device)
      this.#alive.clear()
      this.#beats.clear()
    }
    for (const slot of this.#slots.all()) {
      if (bucket === 'desired') forgetEntry(slot, 0)
      if (bucket === 'state') {
        slot.reported = undefined
        slot.reportedRevision = 0
      }
      this.#markChanged(slot)
    }
  }

  /** What is to be written because of what happened since the last call. Asked again, it says nothing twice: see `retry`. */
  takeWrites(): Write[] {
    const writes = [...this.#changed].flatMap((slot) => this.#write(slot) ?? [])
    this.#changed.clear()
    return writes
  }

  /** A write did not reach the store: it is decided again. */
  retry(key: string): void {
    const { namespace, deployment, device } = parsePlacementKey(key)
    const slot = this.#slots.get(`${namespace}/${deployment}`, device)
    if (slot === undefined) return
    if (slot.entry === undefined) slot.wasWanted = false
    this.#markChanged(slot)
  }

  /** The Deployments whose aggregate may have changed since the last call. */
  takeDirtyDeployments(): string[] {
    const keys = [...this.#dirty]
    this.#dirty.clear()
    return keys
  }

  /** The Devices whose status may have changed since the last call. */
  takeDirtyDevices(): string[] {
    const names = [...this.#dirtyDevices]
    this.#dirtyDevices.clear()
    return names
  }

  isAlive(device: string): boolean {
    return this.#alive.has(device)
  }

  /** The Deployments that match a device. */
  *placedOn(device: string): Iterable<MatchedPlacement> {
    for (const slot of this.#slots.ofDevice(device)) yield* this.#matchedPlacement(slot)
  }

  /** Whether fleet-desired has keys of a Deployment, matched or not. */
  hasKeys(deployment: string): boolean {
    for (const { entry } of this.#slots.ofDeployment(deployment)) if (entry !== undefined) return true
    return false
  }

  /** The revisions of a Deployment that devices were given, or say that they have. */
  revisionsInUse(deployment: string): ReadonlySet<number> {
    const numbers = new Set<number>()
    for (const { entry, reported } of this.#slots.ofDeployment(deployment)) {
      if (entry?.desired !== undefined) numbers.add(entry.desired.payload.revision)
      if (reported !== undefined) numbers.add(reported.state.revision)
    }
    return numbers
  }

  /** How the devices of a Deployment do; undefined when it is not known. */
  aggregate(key: string): Aggregate | undefined {
    const deployment = this.#deployments.get(key)
    return deployment && buildAggregate(deployment, this.matched(key))
  }

  /** With whom a Deployment shares its slot on devices, and how many these are; undefined when with nobody. */
  conflictCounts(key: string): ConflictCounts | undefined {
    return this.#counted().of(key)
  }

  /** The slots of a device that several Deployments want. */
  slotConflictsOn(device: string): readonly SlotConflict[] {
    return this.#counted().on(device)
  }

  /** What is known of every device that a Deployment matches: what its rollout is decided from. */
  *matched(key: string): Iterable<MatchedPlacement> {
    for (const slot of this.#slots.ofDeployment(key)) yield* this.#matchedPlacement(slot)
  }

  /** The keys that were there at the start and that nothing wanted since. */
  orphans(): Orphan[] {
    return [...this.#slots.all()].flatMap(({ key, placement, deployment, entry, isMatched, wasWanted }) => {
      if (entry?.isSeeded !== true || isMatched || wasWanted) return []
      const reason = !this.#deployments.has(deployment)
        ? 'DeploymentGone'
        : this.#devices.has(placement.device)
          ? 'NotMatched'
          : 'DeviceGone'
      return [{ key, placement, revision: entry.revision, reason }]
    })
  }

  #desired({ key, bytes, revision, at }: KeyUpdate, isSeeded: boolean): MalformedEntry | undefined {
    return skipMalformed(() => {
      const slot = this.#slots.at(parsePlacementKey(key), key)
      if (revision <= slot.entryRevision && revision !== 0) return
      if (bytes === undefined) {
        forgetEntry(slot, revision)
        this.#rematch(slot)
        return
      }
      if (isSeeded) this.#seeded += 1
      slot.entryRevision = revision
      slot.entry = { bytes, revision, isSeeded, at, desired: undefined }
      try {
        slot.entry = { ...slot.entry, ...this.#decodeOnce(slot, bytes) }
      } finally {
        this.#rematch(slot)
      }
    })
  }

  /** Devices of a Deployment have the same bytes, so they are read and kept once. */
  #decodeOnce({ deployment }: PlacementState, bytes: Uint8Array): Pick<DesiredEntry, 'bytes' | 'desired'> {
    const last = this.#lastDecoded.get(deployment)
    if (last !== undefined && equalBytes(last.bytes, bytes)) return last
    const read = { bytes, desired: desiredCodec.decode(bytes) }
    this.#lastDecoded.set(deployment, read)
    return read
  }
  #match(deployment: DeploymentView, device: DeviceView): void {
    if (deployment.selects(device).is !== 'Selected') return
    const [namespace = '', name = ''] = deployment.key.split('/')
    const placement = { device: device.name, namespace, deployment: name }
    this.#slots.at(placement, placementKey(placement)).isMatched = true
  }

  /** What matched before may match no longer, or the other way round. Few of all pairs have a slot: only these are looked up. */
  #rematch(slot: PlacementState): void {
    slot.isMatched = isMatched(this.#factsOf(slot))
    this.#markChanged(slot)
  }

  #unmatch(slot: PlacementState): void {
    slot.isMatched = false
    this.#markChanged(slot)
  }

  /** Something about it changed, and with it who has the slot on the device. */
  #markChanged(slot: PlacementState): void {
    const name = this.#deployments.get(slot.deployment)?.slot
    for (const other of this.#sharingSlot(slot.placement.device, name)) if (other !== slot) this.#markOneChanged(other)
    this.#markOneChanged(slot)
  }

  /** Its Deployment goes, or may name another slot from now on: those that claim this one are decided again. */
  #freeSlot(key: string): void {
    const name = this.#deployments.get(key)?.slot
    if (name === undefined) return
    for (const slot of this.#slots.ofDeployment(key))
      for (const other of this.#sharingSlot(slot.placement.device, name)) this.#markOneChanged(other)
  }

  #markOneChanged(slot: PlacementState): void {
    const deployment = this.#deployments.get(slot.deployment)
    if (slot.entry !== undefined && (slot.isMatched || belongsToDeleting(slot.entry, deployment))) slot.wasWanted = true
    if (deployment !== undefined) this.#dirty.add(slot.deployment)
    if (deployment?.slot !== undefined) this.#recount.add(slot.placement.device)
    this.#dirtyDevices.add(slot.placement.device)
    if (!slot.isMatched && !slot.wasWanted && slot.entry === undefined && slot.reported === undefined) {
      this.#slots.remove(slot)
      this.#changed.delete(slot)
      return
    }
    this.#changed.add(slot)
  }

  #write(slot: PlacementState): Write | undefined {
    const { key, entryRevision: revision } = slot
    const decision = decideWrite(this.#factsWithSlotOwner(slot))
    switch (decision.do) {
      case 'Nothing':
        return undefined
      case 'Put':
        // From now on, before the store has answered: it may cease to be wanted in the meantime.
        slot.wasWanted = true
        return { kind: 'Put', key, bytes: decision.bytes, revision }
      case 'Delete':
        // Another operator may know why it is there: only what this one has seen wanted is its to delete.
        return slot.wasWanted ? { kind: 'Delete', key, revision } : undefined
    }
  }

  *#matchedPlacement(slot: PlacementState): Iterable<MatchedPlacement> {
    const { device, deployment, ...known } = this.#factsWithSlotOwner(slot)
    if (slot.isMatched && device !== undefined && deployment !== undefined) yield { ...known, device, deployment }
  }

  #factsOf({ placement, deployment, entry, reported }: PlacementState): PlacementFacts {
    return {
      placement,
      deployment: this.#deployments.get(deployment),
      device: this.#devices.get(placement.device),
      entry,
      reported,
      isAlive: this.#alive.has(placement.device),
      slotOwner: undefined,
    }
  }

  /** As `#known`, with who has the slot on the device when it is not this Deployment. */
  #factsWithSlotOwner(slot: PlacementState): PlacementFacts {
    const known = this.#factsOf(slot)
    const owner = this.#counted().ownerBefore(slot.deployment, slot.placement.device)
    return owner === undefined ? known : { ...known, slotOwner: this.#deployments.get(owner) }
  }

  /** Counted when it is asked for: a change touches a device once for each Deployment that names the slot. */
  #counted(): SlotConflicts {
    for (const device of this.#recount) this.#slotConflicts.set(device, this.#findSlotConflicts(device))
    this.#recount.clear()
    return this.#slotConflicts
  }

  #findSlotConflicts(device: string): SlotConflict[] {
    const matched = [...this.#slots.ofDevice(device)].filter((slot) => slot.isMatched)
    const byName = Map.groupBy(matched, (slot) => this.#deployments.get(slot.deployment)?.slot)
    return [...byName].flatMap(([name, slots]) => {
      if (name === undefined || slots.length === 1) return []
      const all = slots.map((slot) => this.#factsOf(slot))
      return findSlotConflict(name, all) ?? []
    })
  }

  /** What a device has of the Deployments that are for it and name this slot. */
  #sharingSlot(device: string, name: string | undefined): PlacementState[] {
    if (name === undefined) return []
    return [...this.#slots.ofDevice(device)].filter(
      (slot) => slot.isMatched && this.#deployments.get(slot.deployment)?.slot === name,
    )
  }
}

/** Of a Deployment that is being deleted, and not of another one of its name: nobody wants it again. */
const belongsToDeleting = ({ desired }: DesiredEntry, deployment: DeploymentView | undefined): boolean =>
  deployment?.isDeleting === true && desired?.payload.owner.uid === deployment.uid

const forgetEntry = (slot: PlacementState, revision: number): void => {
  slot.entry = undefined
  slot.entryRevision = revision
  slot.wasWanted = false
}

/** Malformed entries are skipped: they are said to the caller, and everything else goes on. */
const skipMalformed = (update: () => void): MalformedEntry | undefined => {
  try {
    update()
    return undefined
  } catch (error) {
    if (error instanceof MalformedEntry) return error
    throw error
  }
}
