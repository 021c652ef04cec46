/**
 * Slots that several Deployments want on one device: who has each, and how often one Deployment meets another. Each change of a
 * device is counted when it comes, so nobody goes through all pairs of 100 Deployments and 10,000 devices. Anchors fleet-gitops A4.13.
 */
import { type Claim, claimOf, type Known, slotOrder } from './placement.ts'

/** A slot of a device that is wanted by more than one. */
export interface Contest {
  readonly slot: string
  /** The Deployment that has it: namespace/name. */
  readonly owner: string
  /** Those that want it too; never empty. */
  readonly others: readonly string[]
}

/** How often a Deployment meets others that name its slot: devices by Deployment. */
export interface Contention {
  /** By who has the slot instead. */
  readonly lost: ReadonlyMap<string, number>
  /** By who wants the slot that this one has. */
  readonly won: ReadonlyMap<string, number>
}

/**
 * Undefined when nobody has the slot, or nobody else wants it. Those with more right to it whose turn has not come lack nothing.
 * While there is a key that must stay, nobody comes beside it: the slot is for those that are there.
 * @param known Of the Deployments that match the device and name the slot.
 */
export const contestOf = (slot: string, known: readonly Known[]): Contest | undefined => {
  const wanted = known
    .flatMap(({ deployment, device, ...more }) => {
      if (deployment === undefined || device === undefined) return []
      return [{ deployment, claim: claimOf(deployment, device, { deployment, device, ...more }) }]
    })
    .toSorted((a, b) => slotOrder(a.deployment, b.deployment))
  const eligible: readonly Claim[] = wanted.some(({ claim }) => claim === 'Stays')
    ? ['IsThere', 'Stays']
    : ['Comes', 'IsThere']
  const first = wanted.findIndex(({ claim }) => eligible.includes(claim))
  const owner = wanted[first]?.deployment.key
  const others = wanted
    .filter(({ claim }, index) => index > first || (index < first && claim !== 'None'))
    .map(({ deployment }) => deployment.key)
  return owner === undefined || others.length === 0 ? undefined : { slot, owner, others }
}

interface Tally {
  readonly lost: Map<string, number>
  readonly won: Map<string, number>
}

export class Contests {
  readonly #byDevice = new Map<string, readonly Contest[]>()
  readonly #tallies = new Map<string, Tally>()

  /** What there is on a device from now on, instead of what there was. */
  set(device: string, contests: readonly Contest[]): void {
    for (const contest of this.on(device)) this.#count(contest, -1)
    for (const contest of contests) this.#count(contest, 1)
    if (contests.length === 0) this.#byDevice.delete(device)
    else this.#byDevice.set(device, contests)
  }

  on(device: string): readonly Contest[] {
    return this.#byDevice.get(device) ?? []
  }

  /** Who has the slot that a Deployment wants on a device; undefined when nobody is before it. */
  ownerBefore(deployment: string, device: string): string | undefined {
    return this.on(device).find(({ others }) => others.includes(deployment))?.owner
  }

  /** Undefined when it meets nobody. */
  of(deployment: string): Contention | undefined {
    return this.#tallies.get(deployment)
  }

  #count({ owner, others }: Contest, by: 1 | -1): void {
    for (const other of others) {
      this.#meet(owner, 'won', other, by)
      this.#meet(other, 'lost', owner, by)
    }
  }

  #meet(deployment: string, how: keyof Tally, other: string, by: 1 | -1): void {
    const tally = this.#tallies.get(deployment) ?? { lost: new Map(), won: new Map() }
    const count = (tally[how].get(other) ?? 0) + by
    if (count > 0) tally[how].set(other, count)
    else tally[how].delete(other)
    if (tally.lost.size + tally.won.size > 0) this.#tallies.set(deployment, tally)
    else this.#tallies.delete(deployment)
  }
}
