/** The entry that a device took last of a placement, with its signature, on the disk too. AGENT-6, AGENT-51. */
import type { EntryVerifier } from './entry-verifier.ts'
import { type AcceptedEntry, type EntryId, entryIdOf, type PresentEntry } from './evaluate-entry.ts'
import type { WrittenEntry } from './nats/watch-desired.ts'
import { UNKNOWN_ENTRY } from './placement-state.ts'
import type { PlacementStore, StoredPlacement } from './placement-store.ts'

export class StoredEntry {
  readonly #key: string
  readonly #store: PlacementStore
  readonly #verifier: EntryVerifier
  #accepted: AcceptedEntry | undefined
  #signature: string

  /** @param stored As it is on the disk. */
  constructor(
    { key, accepted, signature }: StoredPlacement,
    { store, verifier }: { readonly store: PlacementStore; readonly verifier: EntryVerifier },
  ) {
    this.#key = key
    this.#store = store
    this.#verifier = verifier
    this.#accepted = accepted
    this.#signature = signature
  }

  /** Undefined when none was taken. */
  get accepted(): AcceptedEntry | undefined {
    return this.#accepted
  }

  get id(): EntryId {
    return this.#accepted === undefined ? UNKNOWN_ENTRY : entryIdOf(this.#accepted.entry)
  }

  /** Of the same Deployment: one that was made anew comes after a deletion, which is never held back. */
  isUpdatedBy({ entry }: AcceptedEntry): boolean {
    return this.#accepted?.entry.payload.owner.uid === entry.payload.owner.uid
  }

  /** By the keys that the device has now: it may have had none, or others, when it took the entry. */
  async verify(): Promise<PresentEntry | undefined> {
    if (this.#accepted === undefined) return undefined
    const problem = await this.#verifier.findProblem(this.#key, this.#accepted.bytes, this.#signature)
    return { ...this.#accepted, isUnverified: problem !== undefined }
  }

  async take(accepted: AcceptedEntry, written: WrittenEntry): Promise<void> {
    await this.#store.storeAccepted(this.#key, written)
    this.#accepted = accepted
    this.#signature = written.signature
  }

  /** The operator signed the same entry again, as when its keys are exchanged. */
  async takeSignature(signature: string): Promise<void> {
    if (signature === this.#signature) return
    await this.#store.storeSignature(this.#key, signature)
    this.#signature = signature
  }
}
