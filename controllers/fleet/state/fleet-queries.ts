/** What can be asked of the fleet as it is known now. FleetState is what changes it. */
import { parsePlacementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import type { FleetKey } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import type { Aggregate } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { buildAggregate } from './aggregate.ts'
import { EntrySigner } from './entry-signer.ts'
import { FleetFacts } from './fleet-facts.ts'
import { isLeftToLaterRelease, type PlacementFacts } from './placement.ts'
import type { PlacementState } from './placement-state.ts'
import type { ConflictCounts, SlotConflict } from './slot-conflicts.ts'
import { SlotOwners } from './slot-owners.ts'
import type { Undecided } from './undecided-devices.ts'
import type { DeploymentView, DeviceView } from './views.ts'

/** What is known of a Deployment on a device that it matches. */
export type MatchedPlacement = PlacementFacts & { readonly deployment: DeploymentView; readonly device: DeviceView }

export abstract class FleetQueries {
  protected readonly facts: FleetFacts
  protected readonly slots: SlotOwners
  /** Those whose entries the store has no room for. */
  protected readonly noRoom = new Set<PlacementState>()

  /** Of what is written. */
  readonly signer: EntrySigner

  /** @param signingKeys By default nothing is signed. */
  constructor(signingKeys: readonly FleetKey[] = []) {
    this.signer = new EntrySigner(signingKeys)
    this.facts = new FleetFacts(this.signer)
    this.slots = new SlotOwners(this.facts)
  }

  isAlive(device: string): boolean {
    return this.facts.heartbeats.isAlive(device)
  }

  /** The Deployments that match a device. */
  *placedOn(device: string): Iterable<MatchedPlacement> {
    for (const state of this.facts.placements.ofDevice(device)) yield* this.#matched(state)
  }

  /** Every device that a Deployment matches: its rollout is decided from these. */
  *matched(key: string): Iterable<MatchedPlacement> {
    for (const state of this.facts.placements.ofDeployment(key)) yield* this.#matched(state)
  }

  /** Whether fleet-desired has keys of a Deployment, matched or not. */
  hasKeys(deployment: string): boolean {
    for (const { entry } of this.facts.placements.ofDeployment(deployment)) if (entry !== undefined) return true
    return false
  }

  /** A later release wrote the entry of a Deployment on a device. */
  isOfLaterRelease(deployment: string, device: string): boolean {
    return isLeftToLaterRelease(this.facts.placements.get(deployment, device)?.entry)
  }

  /** How many entries devices refuse, because no key that they know has signed them. FLEET-105. */
  countUnverified(): number {
    let count = 0
    for (const { reported } of this.facts.placements.all()) if (reported?.state.unverified === true) count += 1
    return count
  }

  /** On how many devices a later release wrote the entry of a Deployment. FLEET-65. */
  countLaterEntries(deployment: string): number {
    let count = 0
    for (const { entry } of this.facts.placements.ofDeployment(deployment)) if (isLeftToLaterRelease(entry)) count += 1
    return count
  }

  /** On how many devices an entry of a Deployment could not be stored. FLEET-91. */
  countRefused(deployment: string): number {
    let count = 0
    for (const state of this.noRoom) if (state.deployment === deployment) count += 1
    return count
  }

  /** Whether a key of fleet-state is of a Deployment that is there, or that the device was given. FLEET-92. */
  isAnswer(key: string): boolean {
    try {
      const { namespace, deployment, device } = parsePlacementKey(key)
      const { deployments, placements } = this.facts
      const name = `${namespace}/${deployment}`
      return deployments.has(name) || placements.get(name, device)?.entry !== undefined
    } catch (error) {
      if (error instanceof MalformedEntry) return false
      throw error
    }
  }

  /** The revisions of a Deployment that devices have, by their entry or by their report. */
  revisionsInUse(deployment: string): ReadonlySet<number> {
    const numbers = new Set<number>()
    for (const { entry, reported } of this.facts.placements.ofDeployment(deployment)) {
      if (entry?.desired !== undefined) numbers.add(entry.desired.payload.revision)
      if (reported !== undefined) numbers.add(reported.state.revision)
    }
    return numbers
  }

  /** The counts of a Deployment's devices; undefined when the Deployment is not known. */
  aggregate(key: string): Aggregate | undefined {
    const deployment = this.facts.deployments.get(key)
    return deployment && buildAggregate(deployment, this.matched(key))
  }

  /** The Deployments that name the same slot, with the number of devices; undefined when there are none. */
  conflictCounts(key: string): ConflictCounts | undefined {
    return this.slots.conflicts().of(key)
  }

  /** The devices of which its expression can't say whether they are meant; undefined when it can of all. FLEET-115. */
  undecided(key: string): Undecided | undefined {
    return this.facts.undecided.of(key)
  }

  /** The slots of a device that several Deployments name. */
  slotConflictsOn(device: string): readonly SlotConflict[] {
    return this.slots.conflicts().on(device)
  }

  *#matched(state: PlacementState): Iterable<MatchedPlacement> {
    const { device, deployment, ...facts } = this.slots.factsOf(state)
    if (state.isMatched && device !== undefined && deployment !== undefined) yield { ...facts, device, deployment }
  }
}
