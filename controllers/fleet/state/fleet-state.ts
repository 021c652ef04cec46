/**
 * What the operator knows of the fleet, and what follows from it. No I/O, and every update is synchronous:
 *
 *   fleet-desired ─ seed, desiredSeen ─┐                 ┌─► writes()     keys to put and delete, each with its bytes
 *   Deployments ─── deploymentSeen ────┤                 ├─► dirty()      Deployments whose status may have changed
 *   Devices ─────── deviceSeen ────────┼─► FleetState ───┼─► aggregate()  how the devices of one do
 *   fleet-state ─── stateSeen ─────────┤                 └─► orphans()    keys that were there at the start, unwanted
 *   heartbeats ──── heartbeatSeen ─────┘
 *
 * Order: `seed` comes before all else; `writes` and `orphans` are asked only once every source was replayed, because what is
 * not read yet looks as if it were gone. Seed fleet-recovery, Architecture and Cold-start sequence.
 */
import type { Aggregate } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { equalBytes } from '../kv/envelope.ts'
import { parseDeviceKey, parsePlacementKey, placementKey } from '../kv/keys.ts'
import { MalformedEntry } from '../kv/malformed.ts'
import { desiredCodec, stateCodec } from '../kv/payload.ts'
import { aggregateOf } from './aggregate.ts'
import type { Orphan } from './orphans.ts'
import { decide, type Entry, isMatched, type Known } from './placement.ts'
import { type Slot, Slots } from './slot.ts'
import type { DeploymentView, DeviceView } from './views.ts'

/** A key with its value as a bucket has it; no bytes: the key was deleted. */
export interface KeySeen {
  readonly key: string
  readonly bytes: Uint8Array | undefined
  /** Of the bucket. What is not newer than what was seen of the key changes nothing. */
  readonly revision: number
  /** When it was written, by the clock of the server. */
  readonly at?: Date
}

/** A change of fleet-desired. It fails when the key has another revision by now; then what is there comes as `desiredSeen`. */
export type Write =
  | { readonly kind: 'Put'; readonly key: string; readonly bytes: Uint8Array; readonly revision: number }
  | { readonly kind: 'Delete'; readonly key: string; readonly revision: number }

export class FleetState {
  readonly #deployments = new Map<string, DeploymentView>()
  readonly #devices = new Map<string, DeviceView>()
  readonly #alive = new Set<string>()
  readonly #beats = new Map<string, number>()
  readonly #slots = new Slots()
  readonly #touched = new Set<Slot>()
  readonly #dirty = new Set<string>()
  /** The value that was read last, by Deployment. */
  readonly #read = new Map<string, Pick<Entry, 'bytes' | 'desired'>>()
  #seeded = 0

  /** The keys of fleet-desired at the start. @returns what is malformed, to be logged and counted */
  seed(keys: Iterable<KeySeen>): readonly MalformedEntry[] {
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
    this.#deployments.set(deployment.key, deployment)
    for (const device of this.#devices.values()) this.#match(deployment, device)
    for (const slot of this.#slots.ofDeployment(deployment.key)) this.#recheck(slot)
    this.#dirty.add(deployment.key)
  }

  deploymentGone(key: string): void {
    if (!this.#deployments.delete(key)) return
    for (const slot of this.#slots.ofDeployment(key)) this.#unmatch(slot)
    this.#dirty.delete(key)
  }

  deviceSeen(device: DeviceView): void {
    this.#devices.set(device.name, device)
    for (const deployment of this.#deployments.values()) this.#match(deployment, device)
    for (const slot of this.#slots.ofDevice(device.name)) this.#recheck(slot)
  }

  deviceGone(name: string): void {
    if (!this.#devices.delete(name)) return
    for (const slot of this.#slots.ofDevice(name)) this.#unmatch(slot)
  }

  /** A key of fleet-desired, by whomever it was written. @returns what is malformed, to be logged and counted */
  desiredSeen(seen: KeySeen): MalformedEntry | undefined {
    return this.#desired(seen, false)
  }

  /** A key of fleet-state. A malformed value says nothing, as after a restart. @returns what is malformed */
  stateSeen({ key, bytes, revision }: KeySeen): MalformedEntry | undefined {
    return skipping(() => {
      const slot = this.#slots.at(parsePlacementKey(key), key)
      if (revision <= slot.saidRevision) return
      slot.saidRevision = revision
      slot.said = undefined
      try {
        if (bytes !== undefined) slot.said = { state: stateCodec.decode(bytes).payload, revision }
      } finally {
        this.#touch(slot)
      }
    })
  }

  /** A key of fleet-heartbeat; without bytes the device is offline. @returns what is malformed */
  heartbeatSeen({ key, bytes, revision }: KeySeen): MalformedEntry | undefined {
    return skipping(() => {
      const device = parseDeviceKey(key)
      if (revision <= (this.#beats.get(device) ?? 0)) return
      this.#beats.set(device, revision)
      if (this.#alive.has(device) === (bytes !== undefined)) return
      if (bytes === undefined) this.#alive.delete(device)
      else this.#alive.add(device)
      for (const slot of this.#slots.ofDevice(device)) this.#touch(slot)
    })
  }

  /** The store of a bucket was made anew: what was known of it is gone, and its revisions begin again. */
  wiped(bucket: 'desired' | 'state' | 'heartbeat'): void {
    if (bucket === 'heartbeat') {
      this.#alive.clear()
      this.#beats.clear()
    }
    for (const slot of this.#slots.all()) {
      if (bucket === 'desired') forgetEntry(slot, 0)
      if (bucket === 'state') {
        slot.said = undefined
        slot.saidRevision = 0
      }
      this.#touch(slot)
    }
  }

  /** What is to be written because of what happened since the last call. Asked again, it says nothing twice: see `retry`. */
  writes(): Write[] {
    const writes = [...this.#touched].flatMap((slot) => this.#write(slot) ?? [])
    this.#touched.clear()
    return writes
  }

  /** A write did not reach the store: it is decided again. */
  retry(key: string): void {
    const { namespace, deployment, device } = parsePlacementKey(key)
    const slot = this.#slots.get(`${namespace}/${deployment}`, device)
    if (slot === undefined) return
    if (slot.entry === undefined) slot.wasWanted = false
    this.#touch(slot)
  }

  /** The Deployments whose aggregate may have changed since the last call. */
  dirty(): string[] {
    const keys = [...this.#dirty]
    this.#dirty.clear()
    return keys
  }

  /** How the devices of a Deployment do; undefined when it is not known. */
  aggregate(key: string): Aggregate | undefined {
    const deployment = this.#deployments.get(key)
    return deployment && aggregateOf(deployment, this.matched(key))
  }

  /** What is known of every device that a Deployment matches: what its rollout is decided from. */
  *matched(key: string): Iterable<Known & { readonly device: DeviceView }> {
    for (const slot of this.#slots.ofDeployment(key)) {
      const { device, ...known } = this.#known(slot)
      if (slot.isMatched && device !== undefined) yield { ...known, device }
    }
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

  #desired({ key, bytes, revision, at }: KeySeen, isSeeded: boolean): MalformedEntry | undefined {
    return skipping(() => {
      const slot = this.#slots.at(parsePlacementKey(key), key)
      if (revision <= slot.entryRevision) return
      if (bytes === undefined) {
        forgetEntry(slot, revision)
        this.#touch(slot)
        return
      }
      if (isSeeded) this.#seeded += 1
      slot.entryRevision = revision
      slot.entry = { bytes, revision, isSeeded, at, desired: undefined }
      this.#touch(slot)
      slot.entry = { ...slot.entry, ...this.#shared(slot, bytes) }
    })
  }

  /** Devices of a Deployment have the same bytes, so they are read and kept once. */
  #shared({ deployment }: Slot, bytes: Uint8Array): Pick<Entry, 'bytes' | 'desired'> {
    const last = this.#read.get(deployment)
    if (last !== undefined && equalBytes(last.bytes, bytes)) return last
    const read = { bytes, desired: desiredCodec.decode(bytes) }
    this.#read.set(deployment, read)
    return read
  }
  #match(deployment: DeploymentView, device: DeviceView): void {
    if (!deployment.matches(device.labels)) return
    const [namespace = '', name = ''] = deployment.key.split('/')
    const placement = { device: device.name, namespace, deployment: name }
    this.#slots.at(placement, placementKey(placement)).isMatched = true
  }

  /** What matched before may match no longer. Of all pairs there are few that have a slot, so only these are looked up. */
  #recheck(slot: Slot): void {
    if (slot.isMatched && !isMatched(this.#known(slot))) slot.isMatched = false
    this.#touch(slot)
  }

  #unmatch(slot: Slot): void {
    slot.isMatched = false
    this.#touch(slot)
  }

  /** Something about it changed. */
  #touch(slot: Slot): void {
    if (slot.isMatched && slot.entry !== undefined) slot.wasWanted = true
    if (this.#deployments.has(slot.deployment)) this.#dirty.add(slot.deployment)
    if (!slot.isMatched && !slot.wasWanted && slot.entry === undefined && slot.said === undefined) {
      this.#slots.remove(slot)
      this.#touched.delete(slot)
      return
    }
    this.#touched.add(slot)
  }

  #write(slot: Slot): Write | undefined {
    const { key, entryRevision: revision } = slot
    const decision = decide(this.#known(slot))
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

  #known({ placement, deployment, entry, said }: Slot): Known {
    return {
      placement,
      deployment: this.#deployments.get(deployment),
      device: this.#devices.get(placement.device),
      entry,
      said,
      isAlive: this.#alive.has(placement.device),
    }
  }
}

const forgetEntry = (slot: Slot, revision: number): void => {
  slot.entry = undefined
  slot.entryRevision = revision
  slot.wasWanted = false
}

/** Malformed entries are skipped: they are said to the caller, and everything else goes on. */
const skipping = (update: () => void): MalformedEntry | undefined => {
  try {
    update()
    return undefined
  } catch (error) {
    if (error instanceof MalformedEntry) return error
    throw error
  }
}
