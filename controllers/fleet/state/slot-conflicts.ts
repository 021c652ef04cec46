/**
 * Slots that several Deployments want on one device: which one has each, and how often one Deployment meets another. Each change of a
 * device is counted when it comes, so all pairs are never gone through of 100 Deployments and 10,000 devices. FLEET-29, FLEET-30.
 */
import { type PlacementFacts, type SlotDemand, slotDemand } from './placement.ts'
import type { DeploymentView } from './views.ts'

/** A slot of a device that is wanted by more than one. */
export interface SlotConflict {
  readonly slot: string
  /** The Deployment that has it: namespace/name. */
  readonly owner: string
  /** Those that want it too; never empty. */
  readonly others: readonly string[]
}

/** How often a Deployment meets others that name its slot: devices by Deployment. */
export interface ConflictCounts {
  /** By the Deployment that has the slot instead. */
  readonly lost: ReadonlyMap<string, number>
  /** By the Deployment that wants the slot which this one has. */
  readonly won: ReadonlyMap<string, number>
}

/**
 * Undefined when no Deployment has the slot, or no other wants it. Those with more right to it whose turn has not come lack nothing.
 * While there is a key that must stay, no other comes beside it: the slot is for those that are there.
 * @param known Of the Deployments that match the device and name the slot.
 */
export const findSlotConflict = (slot: string, known: readonly PlacementFacts[]): SlotConflict | undefined => {
  const demands = known
    .flatMap(({ deployment, device, ...more }) => {
      if (deployment === undefined || device === undefined) return []
      return [{ deployment, demand: slotDemand(deployment, device, { deployment, device, ...more }) }]
    })
    .toSorted((a, b) => compareForSlot(a.deployment, b.deployment))
  const eligible: readonly SlotDemand[] = demands.some(({ demand }) => demand === 'Stays')
    ? ['IsThere', 'Stays']
    : ['Comes', 'IsThere']
  const first = demands.findIndex(({ demand }) => eligible.includes(demand))
  const owner = demands[first]?.deployment.key
  const others = demands
    .filter(({ demand }, index) => index > first || (index < first && demand !== 'None'))
    .map(({ deployment }) => deployment.key)
  return owner === undefined || others.length === 0 ? undefined : { slot, owner, others }
}

interface MutableCounts {
  readonly lost: Map<string, number>
  readonly won: Map<string, number>
}

export class SlotConflicts {
  readonly #byDevice = new Map<string, readonly SlotConflict[]>()
  readonly #tallies = new Map<string, MutableCounts>()

  /** What there is on a device from now on, instead of what there was. */
  set(device: string, conflicts: readonly SlotConflict[]): void {
    for (const conflict of this.on(device)) this.#count(conflict, -1)
    for (const conflict of conflicts) this.#count(conflict, 1)
    if (conflicts.length === 0) this.#byDevice.delete(device)
    else this.#byDevice.set(device, conflicts)
  }

  on(device: string): readonly SlotConflict[] {
    return this.#byDevice.get(device) ?? []
  }

  /** The Deployment that has the slot which another one wants on a device; undefined when none is before it. */
  ownerBefore(deployment: string, device: string): string | undefined {
    return this.on(device).find(({ others }) => others.includes(deployment))?.owner
  }

  /** Undefined when it meets none. */
  of(deployment: string): ConflictCounts | undefined {
    return this.#tallies.get(deployment)
  }

  #count({ owner, others }: SlotConflict, by: 1 | -1): void {
    for (const other of others) {
      this.#meet(owner, 'won', other, by)
      this.#meet(other, 'lost', owner, by)
    }
  }

  #meet(deployment: string, how: keyof MutableCounts, other: string, by: 1 | -1): void {
    const tally = this.#tallies.get(deployment) ?? { lost: new Map(), won: new Map() }
    const count = (tally[how].get(other) ?? 0) + by
    if (count > 0) tally[how].set(other, count)
    else tally[how].delete(other)
    if (tally.lost.size + tally.won.size > 0) this.#tallies.set(deployment, tally)
    else this.#tallies.delete(deployment)
  }
}

/** Of two that claim one slot, the one before the other: by priority, then by age, then by name. */
const compareForSlot = (a: DeploymentView, b: DeploymentView): number =>
  b.priority - a.priority || Date.parse(a.created) - Date.parse(b.created) || (a.key < b.key ? -1 : 1)
