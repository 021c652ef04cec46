/**
 * What the operator knows of the fleet, and what follows from it. No I/O, and every update is synchronous:
 *
 *   fleet-desired ─ seed, desiredSeen ─┐                 ┌─► takeWrites()           keys to put and delete, with their bytes
 *   Deployments ─── deploymentSeen ────┤                 ├─► takeDirtyDeployments() whose status may have changed
 *   Devices ─────── deviceSeen ────────┼─► FleetState ───┼─► aggregate()            counts of a Deployment's devices
 *   fleet-state ─── stateSeen ─────────┤                 ├─► conflictCounts()       other Deployments that name its slot
 *   heartbeats ──── heartbeatSeen ─────┘                 └─► orphans()              keys of the start that nothing needs
 *
 * Updates come in any order. `takeWrites` and `orphans` are called once every source was read: an object that is not read yet
 * looks deleted. FLEET-2, FLEET-6, FLEET-7, FLEET-10.
 */
import { parseDeviceKey, parsePlacementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import type { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Aggregate } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { buildAggregate } from './aggregate.ts'
import { FleetFacts } from './fleet-facts.ts'
import { type DesiredWrite, type KeyUpdate, skipMalformed } from './key-update.ts'
import type { Orphan } from './orphans.ts'
import { type DesiredEntry, decideWrite, isMatched, type PlacementFacts } from './placement.ts'
import type { PlacementState } from './placement-state.ts'
import type { ConflictCounts, SlotConflict } from './slot-conflicts.ts'
import { SlotOwners } from './slot-owners.ts'
import type { DeploymentView, DeviceView } from './views.ts'

/** What is known of a Deployment on a device that it matches. */
export type MatchedPlacement = PlacementFacts & { readonly deployment: DeploymentView; readonly device: DeviceView }

export class FleetState {
  readonly #facts = new FleetFacts()
  readonly #slots = new SlotOwners(this.#facts)
  readonly #changed = new Set<PlacementState>()
  readonly #dirtyDeployments = new Set<string>()
  readonly #dirtyDevices = new Set<string>()
  #seeded = 0

  /** The keys of fleet-desired at the start. @returns what is malformed, to be logged and counted */
  seed(keys: Iterable<KeyUpdate>): readonly MalformedEntry[] {
    return [...keys].flatMap((update) => this.#desired(update, true) ?? [])
  }

  /** How many keys were there at the start. */
  get seeded(): number {
    return this.#seeded
  }

  /** Also when only its rollout or its revisions changed. */
  deploymentSeen(deployment: DeploymentView): void {
    const { deployments, devices, placements } = this.#facts
    this.#markCompetitorsChanged(deployment.key)
    deployments.set(deployment.key, deployment)
    for (const device of devices.values()) this.#facts.addIfSelected(deployment, device)
    for (const state of placements.ofDeployment(deployment.key)) this.#rematch(state)
    this.#dirtyDeployments.add(deployment.key)
  }

  deploymentDeleted(key: string): void {
    this.#markCompetitorsChanged(key)
    if (!this.#facts.deployments.delete(key)) return
    for (const state of this.#facts.placements.ofDeployment(key)) this.#unmatch(state)
    this.#dirtyDeployments.delete(key)
  }

  deviceSeen(device: DeviceView): void {
    const { deployments, devices, placements } = this.#facts
    devices.set(device.name, device)
    this.#dirtyDevices.add(device.name)
    for (const deployment of deployments.values()) this.#facts.addIfSelected(deployment, device)
    for (const state of placements.ofDevice(device.name)) this.#rematch(state)
  }

  deviceDeleted(name: string): void {
    if (!this.#facts.devices.delete(name)) return
    for (const state of this.#facts.placements.ofDevice(name)) this.#unmatch(state)
  }

  /** A key of fleet-desired, whoever wrote it. @returns what is malformed, to be logged and counted */
  desiredSeen(update: KeyUpdate): MalformedEntry | undefined {
    return this.#desired(update, false)
  }

  /** A key of fleet-state. A malformed value counts as none. @returns what is malformed */
  stateSeen({ key, bytes, revision }: KeyUpdate): MalformedEntry | undefined {
    return skipMalformed(() => {
      const state = this.#facts.placements.at(parsePlacementKey(key), key)
      if (revision <= state.reportedRevision) return
      state.reportedRevision = revision
      state.reported = undefined
      try {
        if (bytes !== undefined) state.reported = { state: stateCodec.decode(bytes).payload, revision }
      } finally {
        this.#markChanged(state)
      }
    })
  }

  /** A key of fleet-heartbeat; without bytes the device is offline. @returns what is malformed */
  heartbeatSeen({ key, bytes, revision }: KeyUpdate): MalformedEntry | undefined {
    return skipMalformed(() => {
      const device = parseDeviceKey(key)
      if (!this.#facts.heartbeats.update(device, revision, bytes !== undefined)) return
      this.#dirtyDevices.add(device)
      for (const state of this.#facts.placements.ofDevice(device)) this.#markChanged(state)
    })
  }

  /** A bucket was made anew: what was known of it is gone, and its revisions begin again. FLEET-13. */
  bucketRecreated(bucket: 'desired' | 'state' | 'heartbeat'): void {
    if (bucket === 'heartbeat') for (const device of this.#facts.heartbeats.clear()) this.#dirtyDevices.add(device)
    for (const state of this.#facts.placements.all()) {
      if (bucket === 'desired') forgetEntry(state, 0)
      if (bucket === 'state') {
        state.reported = undefined
        state.reportedRevision = 0
      }
      this.#markChanged(state)
    }
  }

  /** The writes that follow from what changed since the last call. One that fails is asked for again by `retry`. */
  takeWrites(): DesiredWrite[] {
    const writes = [...this.#changed].flatMap((state) => this.#write(state) ?? [])
    this.#changed.clear()
    return writes
  }

  /** A write did not reach the store: it is decided again. */
  retry(key: string): void {
    const { namespace, deployment, device } = parsePlacementKey(key)
    const state = this.#facts.placements.get(`${namespace}/${deployment}`, device)
    if (state === undefined) return
    if (state.entry === undefined) state.wasWanted = false
    this.#markChanged(state)
  }

  /** The Deployments whose aggregate may have changed since the last call. */
  takeDirtyDeployments(): string[] {
    const keys = [...this.#dirtyDeployments]
    this.#dirtyDeployments.clear()
    return keys
  }

  /** The Devices whose status may have changed since the last call. */
  takeDirtyDevices(): string[] {
    const names = [...this.#dirtyDevices]
    this.#dirtyDevices.clear()
    return names
  }

  isAlive(device: string): boolean {
    return this.#facts.heartbeats.isAlive(device)
  }

  /** The Deployments that match a device. */
  *placedOn(device: string): Iterable<MatchedPlacement> {
    for (const state of this.#facts.placements.ofDevice(device)) yield* this.#matched(state)
  }

  /** Every device that a Deployment matches: its rollout is decided from these. */
  *matched(key: string): Iterable<MatchedPlacement> {
    for (const state of this.#facts.placements.ofDeployment(key)) yield* this.#matched(state)
  }

  /** Whether fleet-desired has keys of a Deployment, matched or not. */
  hasKeys(deployment: string): boolean {
    for (const { entry } of this.#facts.placements.ofDeployment(deployment)) if (entry !== undefined) return true
    return false
  }

  /** The revisions of a Deployment that devices have, by their entry or by their report. */
  revisionsInUse(deployment: string): ReadonlySet<number> {
    const numbers = new Set<number>()
    for (const { entry, reported } of this.#facts.placements.ofDeployment(deployment)) {
      if (entry?.desired !== undefined) numbers.add(entry.desired.payload.revision)
      if (reported !== undefined) numbers.add(reported.state.revision)
    }
    return numbers
  }

  /** The counts of a Deployment's devices; undefined when the Deployment is not known. */
  aggregate(key: string): Aggregate | undefined {
    const deployment = this.#facts.deployments.get(key)
    return deployment && buildAggregate(deployment, this.matched(key))
  }

  /** The Deployments that name the same slot, with the number of devices; undefined when there are none. */
  conflictCounts(key: string): ConflictCounts | undefined {
    return this.#slots.conflicts().of(key)
  }

  /** The slots of a device that several Deployments name. */
  slotConflictsOn(device: string): readonly SlotConflict[] {
    return this.#slots.conflicts().on(device)
  }

  /** The keys that were there at the start and that nothing needed since. FLEET-3, FLEET-4. */
  orphans(): Orphan[] {
    const { deployments, devices, placements } = this.#facts
    return [...placements.all()].flatMap(({ key, placement, deployment, entry, isMatched, wasWanted }) => {
      if (entry?.isSeeded !== true || isMatched || wasWanted) return []
      const reason = !deployments.has(deployment)
        ? 'DeploymentGone'
        : devices.has(placement.device)
          ? 'NotMatched'
          : 'DeviceGone'
      return [{ key, placement, revision: entry.revision, reason }]
    })
  }

  #desired({ key, bytes, revision, at }: KeyUpdate, isSeeded: boolean): MalformedEntry | undefined {
    return skipMalformed(() => {
      const state = this.#facts.placements.at(parsePlacementKey(key), key)
      if (revision <= state.entryRevision && revision !== 0) return
      if (bytes === undefined) {
        forgetEntry(state, revision)
        this.#rematch(state)
        return
      }
      if (isSeeded) this.#seeded += 1
      state.entryRevision = revision
      state.entry = { bytes, revision, isSeeded, at, desired: undefined }
      try {
        state.entry = { ...state.entry, ...this.#facts.decode(state, bytes) }
      } finally {
        this.#rematch(state)
      }
    })
  }

  /** What matched before may match no longer, or the other way round. Few of all pairs have a state: only these are checked. */
  #rematch(state: PlacementState): void {
    state.isMatched = isMatched(this.#facts.of(state))
    this.#markChanged(state)
  }

  #unmatch(state: PlacementState): void {
    state.isMatched = false
    this.#markChanged(state)
  }

  /** Also those that share its slot on the device: another Deployment may have it now. */
  #markChanged(state: PlacementState): void {
    for (const other of this.#slots.sharing(state.placement.device, this.#facts.slotOf(state)))
      if (other !== state) this.#markOneChanged(other)
    this.#markOneChanged(state)
  }

  /** The Deployment is deleted, or may name another slot from now on. */
  #markCompetitorsChanged(key: string): void {
    for (const other of this.#slots.competingWith(key)) this.#markOneChanged(other)
  }

  #markOneChanged(state: PlacementState): void {
    const deployment = this.#facts.deployments.get(state.deployment)
    if (state.entry !== undefined && (state.isMatched || belongsToDeleted(state.entry, deployment)))
      state.wasWanted = true
    if (deployment !== undefined) this.#dirtyDeployments.add(state.deployment)
    this.#slots.markChanged(state)
    this.#dirtyDevices.add(state.placement.device)
    if (!state.isMatched && !state.wasWanted && state.entry === undefined && state.reported === undefined) {
      this.#facts.placements.remove(state)
      this.#changed.delete(state)
      return
    }
    this.#changed.add(state)
  }

  #write(state: PlacementState): DesiredWrite | undefined {
    const { key, entryRevision: revision } = state
    const decision = decideWrite(this.#slots.factsOf(state))
    switch (decision.do) {
      case 'Nothing':
        return undefined
      case 'Put':
        // From now on, before the store has answered: it may cease to be needed in the meantime.
        state.wasWanted = true
        return { kind: 'Put', key, bytes: decision.bytes, revision }
      case 'Delete':
        // Another operator may know why the key is there: this one deletes only what it has seen needed.
        return state.wasWanted ? { kind: 'Delete', key, revision } : undefined
    }
  }

  *#matched(state: PlacementState): Iterable<MatchedPlacement> {
    const { device, deployment, ...facts } = this.#slots.factsOf(state)
    if (state.isMatched && device !== undefined && deployment !== undefined) yield { ...facts, device, deployment }
  }
}

/** The entry is of a Deployment that is being deleted, and not of another one of the same name. */
const belongsToDeleted = ({ desired }: DesiredEntry, deployment: DeploymentView | undefined): boolean =>
  deployment?.isDeleting === true && desired?.payload.owner.uid === deployment.uid

const forgetEntry = (state: PlacementState, revision: number): void => {
  state.entry = undefined
  state.entryRevision = revision
  state.wasWanted = false
}
