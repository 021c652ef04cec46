/** Which Deployment has each slot of each device. Devices are recounted when they are asked for, not at each change. FLEET-29. */
import type { FleetFacts } from './fleet-facts.ts'
import type { PlacementFacts } from './placement.ts'
import type { PlacementState } from './placement-state.ts'
import { findSlotConflict, type SlotConflict, SlotConflicts } from './slot-conflicts.ts'

export class SlotOwners {
  readonly #facts: FleetFacts
  readonly #conflicts = new SlotConflicts()
  /** Devices whose conflicts may be others than those that are counted. */
  readonly #recount = new Set<string>()

  constructor(facts: FleetFacts) {
    this.#facts = facts
  }

  /** Something about the placement changed. */
  markChanged(state: PlacementState): void {
    if (this.#facts.slotOf(state) !== undefined) this.#recount.add(state.placement.device)
  }

  /** The placements on a device whose Deployments name this slot. */
  sharing(device: string, slot: string | undefined): PlacementState[] {
    if (slot === undefined) return []
    return [...this.#facts.placements.ofDevice(device)].filter(
      (state) => state.isMatched && this.#facts.slotOf(state) === slot,
    )
  }

  /** A key that nothing needs any more has the slot on the device until it is gone: two programs must not share it. */
  isKept(state: PlacementState): boolean {
    const slot = this.#facts.slotOf(state)
    if (slot === undefined) return false
    for (const other of this.#facts.placements.ofDevice(state.placement.device))
      if (other !== state && keepsSlot(other, slot)) return true
    return false
  }

  /** The placements that compete with those of a Deployment. */
  *competingWith(deployment: string): Iterable<PlacementState> {
    const slot = this.#facts.deployments.get(deployment)?.slot
    if (slot === undefined) return
    for (const { placement } of this.#facts.placements.ofDeployment(deployment))
      yield* this.sharing(placement.device, slot)
  }

  /** The facts of a placement, with the Deployment that has its slot if that is another one. */
  factsOf(state: PlacementState): PlacementFacts {
    const facts = this.#facts.of(state)
    const owner = this.conflicts().ownerBefore(state.deployment, state.placement.device)
    return owner === undefined ? facts : { ...facts, slotOwner: this.#facts.deployments.get(owner) }
  }

  conflicts(): SlotConflicts {
    for (const device of this.#recount) this.#conflicts.set(device, this.#find(device))
    this.#recount.clear()
    return this.#conflicts
  }

  #find(device: string): SlotConflict[] {
    const matched = [...this.#facts.placements.ofDevice(device)].filter((state) => state.isMatched)
    const bySlot = Map.groupBy(matched, (state) => this.#facts.slotOf(state))
    return [...bySlot].flatMap(([slot, states]) => {
      if (slot === undefined || states.length === 1) return []
      const all = states.map((state) => this.#facts.of(state))
      return findSlotConflict(slot, all) ?? []
    })
  }
}

const keepsSlot = ({ entry, isMatched, lastSlot }: PlacementState, slot: string): boolean =>
  entry !== undefined && !isMatched && lastSlot === slot
