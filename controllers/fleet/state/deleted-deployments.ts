/** Deployments that a person deleted, while keys of them may be left: what they left in the store is deleted at once. Pure. */
import type { FleetFacts } from './fleet-facts.ts'
import type { PlacementState } from './placement-state.ts'

export class DeletedDeployments {
  readonly #facts: Pick<FleetFacts, 'deployments'>
  /** Their uids, of those that are not there any more. */
  readonly #uids = new Map<string, string>()

  constructor(facts: Pick<FleetFacts, 'deployments'>) {
    this.#facts = facts
  }

  add(key: string, uid: string): void {
    this.#uids.set(key, uid)
  }

  /** One of its name is there. */
  remove(key: string): void {
    this.#uids.delete(key)
  }

  /** The entry is of the one that a person deleted, and not of another one of the same name, as far as it is known of which it is. */
  isLeft(state: PlacementState): boolean {
    const { entry } = state
    const uid = this.#uidOf(state)
    // What a later release wrote can't be read, and the finalizer waits for it.
    const isUnknown = entry?.isOfLaterRelease === true || entry?.isVerified === false
    return uid !== undefined && (isUnknown || entry?.desired?.payload.owner.uid === uid)
  }

  /** It says that it is of another one: of the next one, if an operator that signs nothing knows of that already. FLEET-106. */
  isDisputed(state: PlacementState): boolean {
    const { entry, isMatched } = state
    const owner = entry?.desired?.payload.owner
    const uid = this.#uidOf(state)
    return entry?.isVerified === false && !isMatched && uid !== undefined && owner !== undefined && owner.uid !== uid
  }

  #uidOf({ deployment: key }: PlacementState): string | undefined {
    const deployment = this.#facts.deployments.get(key)
    return deployment?.isDeletedByPerson === true ? deployment.uid : this.#uids.get(key)
  }
}
