/**
 * What the operator knows of the fleet, and what follows from it. No I/O, and every update is synchronous:
 *
 *   fleet-desired ─ seed, desiredSeen ─┐                 ┌─► takeWrites()           keys to put and delete, with their bytes
 *   Deployments ─── deploymentSeen ────┤                 ├─► takeDirtyDeployments() whose status may have changed
 *   Devices ─────── deviceSeen ────────┼─► FleetState ───┼─► aggregate()            counts of a Deployment's devices
 *   fleet-state ─── stateSeen ─────────┤                 ├─► conflictCounts()       other Deployments that name its slot
 *   heartbeats ──── heartbeatSeen ─────┘                 └─► unneededKeys()         keys that nothing needs: a brake decides
 *
 * Updates come in any order. `takeWrites` and `unneededKeys` are called once every source was read: an object that is not read yet
 * looks deleted. FLEET-2, FLEET-6, FLEET-7, FLEET-10.
 */
import { parseDeviceKey, parsePlacementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import type { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import type { FleetKey } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { decideWrite } from './decide-write.ts'
import { DeletedDeployments } from './deleted-deployments.ts'
import { DisputedEntries } from './disputed-entries.ts'
import { FleetQueries } from './fleet-queries.ts'
import { bytesOf, type DesiredWrite, type KeyUpdate, skipMalformed } from './key-update.ts'
import { isLeftToLaterRelease, isMatched } from './placement.ts'
import type { PlacementState } from './placement-state.ts'
import { judgeAnew, rememberSigned } from './signed-entries.ts'
import { contentOf, reportIn, StrayReports } from './stray-reports.ts'
import { takeAll } from './take-all.ts'
import { reasonOf, type UnneededKey } from './unneeded-keys.ts'
import type { DeploymentView, DeviceView } from './views.ts'

export class FleetState extends FleetQueries {
  readonly strayReports = new StrayReports()
  readonly #changed = new Set<PlacementState>()
  readonly #dirtyDeployments = new Set<string>()
  readonly #dirtyDevices = new Set<string>()
  /** Their keys may be needed by nothing any more. */
  readonly #unneeded = new Set<PlacementState>()
  readonly #deletedByPerson = new DeletedDeployments(this.facts)
  readonly #disputed = new DisputedEntries()

  /** The keys of fleet-desired at the start. @returns what is malformed, to be logged and counted */
  seed(keys: Iterable<KeyUpdate>): readonly MalformedEntry[] {
    return [...keys].flatMap((update) => this.#desired(update, true) ?? [])
  }

  /** How many keys fleet-desired has. */
  get keyCount(): number {
    return this.facts.entries.keys
  }

  /** Also when only its rollout or its revisions changed. */
  deploymentSeen(deployment: DeploymentView): void {
    this.#markCompetitorsChanged(deployment.key)
    this.facts.setDeployment(deployment)
    this.#deletedByPerson.remove(deployment.key)
    this.facts.undecided.forgetDeployment(deployment.key)
    for (const device of this.facts.devicesFor(deployment)) this.facts.addIfSelected(deployment, device)
    for (const state of this.facts.placements.ofDeployment(deployment.key)) this.#rematch(state)
    this.#dirtyDeployments.add(deployment.key)
  }

  /** @param deletedUid Its uid when a person deleted it; undefined when it is not there any more for an unknown reason. */
  deploymentDeleted(key: string, deletedUid?: string): void {
    this.#markCompetitorsChanged(key)
    if (deletedUid !== undefined && this.hasKeys(key)) this.#deletedByPerson.add(key, deletedUid)
    if (!this.facts.deleteDeployment(key) && deletedUid === undefined) return
    this.facts.undecided.forgetDeployment(key)
    for (const state of this.facts.placements.ofDeployment(key)) this.#unmatch(state)
    this.#dirtyDeployments.delete(key)
  }

  deviceSeen(device: DeviceView): void {
    this.facts.setDevice(device)
    this.#dirtyDevices.add(device.name)
    for (const deployment of this.facts.deploymentsFor(device))
      if (this.facts.addIfSelected(deployment, device)) this.#dirtyDeployments.add(deployment.key)
    for (const state of this.facts.placements.ofDevice(device.name)) this.#rematch(state)
  }

  deviceDeleted(name: string): void {
    if (!this.facts.deleteDevice(name)) return
    for (const key of this.facts.undecided.forgetDevice(name)) this.#dirtyDeployments.add(key)
    for (const state of this.facts.placements.ofDevice(name)) this.#unmatch(state)
  }

  /** A key of fleet-desired, by any writer. @returns what is malformed, to be logged and counted */
  desiredSeen(update: KeyUpdate): MalformedEntry | undefined {
    return this.#desired(update, false)
  }

  /** A key of fleet-state. A malformed value counts as none. @returns what is malformed */
  stateSeen(update: KeyUpdate): MalformedEntry | undefined {
    const { key, bytes, revision } = update
    if (revision !== 0 && !this.isAnswer(key)) this.strayReports.count(key, contentOf(bytes))
    return skipMalformed(() => {
      const { placements } = this.facts
      const placement = parsePlacementKey(key)
      const isKnown = placements.get(`${placement.namespace}/${placement.deployment}`, placement.device) !== undefined
      if (!isKnown && placements.isFull(placement.device)) return
      const state = placements.at(placement, key)
      if (revision <= state.reportedRevision && revision !== 0) return
      state.reportedRevision = revision
      state.reported = undefined
      try {
        state.reported = reportIn(update)
      } finally {
        this.#markChanged(state)
      }
    })
  }

  /** A key of fleet-heartbeat; without bytes the device is offline. @returns what is malformed */
  heartbeatSeen(update: KeyUpdate): MalformedEntry | undefined {
    return skipMalformed(() => {
      const device = parseDeviceKey(update.key)
      if (!this.facts.heartbeats.update(device, update.revision, bytesOf(update) !== undefined)) return
      this.#dirtyDevices.add(device)
      for (const state of this.facts.placements.ofDevice(device)) this.#markChanged(state)
    })
  }

  /** A bucket was made anew: what was known of it is gone, and its revisions begin again. FLEET-13. */
  bucketRecreated(bucket: 'desired' | 'state' | 'heartbeat'): void {
    if (bucket === 'state') this.strayReports.clear()
    if (bucket === 'heartbeat') for (const device of this.facts.heartbeats.clear()) this.#dirtyDevices.add(device)
    for (const state of this.facts.placements.all()) {
      if (bucket === 'desired') this.#forgetEntry(state, 0)
      if (bucket === 'state') {
        state.reported = undefined
        state.reportedRevision = 0
      }
      this.#markChanged(state)
    }
  }

  /** Every entry is to be signed by the present keys. FLEET-104. */
  useSigningKeys(keys: readonly FleetKey[]): void {
    this.signer.use(keys)
    for (const state of this.facts.placements.all()) if (judgeAnew(state, this.signer)) this.#markChanged(state)
  }

  /** The writes that follow from what changed since the last call. One that fails is asked for again by `retry`. */
  takeWrites(): DesiredWrite[] {
    const writes = [...this.#changed].flatMap((state) => this.#write(state) ?? [])
    this.#changed.clear()
    return writes
  }

  /** A write did not reach the store: it is decided again. */
  retry(key: string): void {
    const state = this.#notWritten(key)
    if (state !== undefined) this.#markChanged(state)
  }

  /** The store has no room for a write: it is decided again by `retryWaiting`. FLEET-91. */
  refused(key: string): void {
    const state = this.#notWritten(key)
    if (state === undefined) return
    this.noRoom.add(state)
    this.#dirtyDeployments.add(state.deployment)
  }

  #notWritten(key: string): PlacementState | undefined {
    const { namespace, deployment, device } = parsePlacementKey(key)
    const state = this.facts.placements.get(`${namespace}/${deployment}`, device)
    if (state !== undefined && state.entry === undefined) state.wasWanted = false
    return state
  }

  /** Called every five seconds: what waits for that is decided again. FLEET-91, FLEET-106. */
  retryWaiting(): void {
    for (const state of [...this.noRoom, ...this.#disputed.endInterval()]) this.#markOneChanged(state)
  }

  /** The Deployments whose aggregate may have changed since the last call. */
  takeDirtyDeployments(): string[] {
    return takeAll(this.#dirtyDeployments)
  }

  /** The Devices whose status may have changed since the last call. */
  takeDirtyDevices(): string[] {
    return takeAll(this.#dirtyDevices)
  }

  /** The keys that nothing needs any more and that no person deleted. FLEET-3, FLEET-4. */
  unneededKeys(): UnneededKey[] {
    const { deployments, devices } = this.facts
    return [...this.#unneeded].flatMap((state) => {
      const { key, placement, deployment, entry, isMatched, wasWanted } = state
      // Another operator may know why a key is there: this one deletes what it has seen needed, and what it found at the start.
      const isOwn = (wasWanted || entry?.isSeeded === true) && !isLeftToLaterRelease(entry)
      if (entry === undefined || isMatched || !isOwn || this.#deletedByPerson.isLeft(state)) {
        this.#unneeded.delete(state)
        return []
      }
      const reason = reasonOf(deployments.get(deployment)?.isDeleting === false, devices.has(placement.device))
      return [{ key, placement, revision: entry.revision, reason, isInherited: !wasWanted }]
    })
  }

  #desired(update: KeyUpdate, isSeeded: boolean): MalformedEntry | undefined {
    const { key, bytes, revision } = update
    return skipMalformed(() => {
      const state = this.facts.placements.at(parsePlacementKey(key), key)
      if (revision <= state.entryRevision && revision !== 0) return
      if (bytes === undefined) {
        this.#forgetEntry(state, revision)
        this.#rematch(state)
        return
      }
      if (state.entry === undefined) this.facts.entries.keyWritten(state.deployment)
      this.noRoom.delete(state)
      state.entryRevision = revision
      const { entry, problem } = this.facts.readEntry(state, { ...update, bytes }, isSeeded)
      state.entry = entry
      // Also when another is put in its place at once: that one waits anew.
      if (entry.isVerified) this.#disputed.delete(state)
      this.#rematch(state)
      if (problem !== undefined) throw problem
    })
  }

  /** What matched before may match no longer, or the other way round. Few of all pairs have a state: only these are checked. */
  #rematch(state: PlacementState): void {
    state.isMatched = isMatched(this.facts.of(state))
    rememberSigned(state)
    this.#markChanged(state)
  }

  #unmatch(state: PlacementState): void {
    state.isMatched = false
    rememberSigned(state)
    this.#markChanged(state)
  }

  /** Also those that share its slot on the device: another Deployment may have it now. */
  #markChanged(state: PlacementState): void {
    const slot = state.isMatched ? this.facts.slotOf(state) : state.lastSlot
    for (const other of this.slots.sharing(state.placement.device, slot))
      if (other !== state) this.#markOneChanged(other)
    this.#markOneChanged(state)
  }

  /** The Deployment is deleted, or may name another slot from now on. */
  #markCompetitorsChanged(key: string): void {
    for (const other of this.slots.competingWith(key)) this.#markOneChanged(other)
  }

  #markOneChanged(state: PlacementState): void {
    const deployment = this.facts.deployments.get(state.deployment)
    if (state.entry !== undefined && (state.isMatched || this.#deletedByPerson.isLeft(state))) state.wasWanted = true
    if (state.isMatched) state.lastSlot = this.facts.slotOf(state)
    if (deployment !== undefined) this.#dirtyDeployments.add(state.deployment)
    this.slots.markChanged(state)
    this.#dirtyDevices.add(state.placement.device)
    if (!state.isMatched && !state.wasWanted && state.entry === undefined && state.reported === undefined) {
      this.facts.placements.remove(state)
      this.#changed.delete(state)
      this.noRoom.delete(state)
      this.#disputed.delete(state)
      return
    }
    this.#changed.add(state)
  }

  #write(state: PlacementState): DesiredWrite | undefined {
    const { key, entryRevision: revision } = state
    const decision = decideWrite(this.slots.factsOf(state))
    if (decision.do !== 'Put') this.noRoom.delete(state)
    const mustWait = decision.do === 'Put' ? decision.isDisputed === true : this.#deletedByPerson.isDisputed(state)
    if (!mustWait) this.#disputed.delete(state)
    switch (decision.do) {
      case 'Nothing':
        return undefined
      case 'Put':
        if (this.slots.isKept(state) || (mustWait && !this.#disputed.hasWaited(state))) return undefined
        // From now on, before the store has answered: it may cease to be needed in the meantime.
        state.wasWanted = true
        return { kind: 'Put', key, bytes: decision.bytes, revision }
      case 'Delete':
        // A Deployment that has its slot comes in its place, or a person deleted it: both are declared.
        if (state.wasWanted && (state.isMatched || this.#deletedByPerson.isLeft(state))) {
          if (mustWait && !this.#disputed.hasWaited(state)) return undefined
          state.lastSigned = undefined
          return { kind: 'Delete', key, revision }
        }
        this.#unneeded.add(state)
        return undefined
    }
  }

  #forgetEntry(state: PlacementState, revision: number): void {
    if (state.entry !== undefined) this.facts.entries.keyDeleted(state.deployment)
    state.entry = undefined
    state.entryRevision = revision
    state.wasWanted = false
  }
}
