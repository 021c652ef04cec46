/** Where in the bucket the entry of a placement stood last, on the disk too, and which deletion is older than that. AGENT-26. */

import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { evaluateDeletion, laterPosition, type StorePosition } from './evaluate-deletion.ts'
import type { PlacementStore } from './placement-store.ts'
import type { LocalPlacement } from './workload-runner.ts'

export class EntryPosition {
  readonly #placement: LocalPlacement
  readonly #store: PlacementStore
  readonly #clock: Clock
  readonly #log: Logger
  #position: StorePosition | undefined
  #olderDeletion: string | undefined

  /** @param stored As it is on the disk. */
  constructor(
    placement: LocalPlacement,
    stored: StorePosition | undefined,
    { store, clock, log }: { readonly store: PlacementStore; readonly clock: Clock; readonly log: Logger },
  ) {
    this.#placement = placement
    this.#position = stored
    this.#store = store
    this.#clock = clock
    this.#log = log
  }

  /** Undefined when no entry was told yet. */
  get position(): StorePosition | undefined {
    return this.#position
  }

  /** Why a deletion was left alone; undefined when none was since the last entry. */
  get olderDeletion(): string | undefined {
    return this.#olderDeletion
  }

  /** An entry was told, whatever becomes of it. @param isStored an entry of the placement is on the disk */
  async entryTold(position: StorePosition, isStored: boolean): Promise<void> {
    this.#olderDeletion = undefined
    const later = laterPosition(this.#position, position, this.#now())
    if (later === this.#position) return
    if (isStored) await this.#store.storePosition(this.#placement.key, later)
    this.#position = later
  }

  /** An entry was taken and is on the disk with its position: what is later than it is so whatever was told of those before. */
  entryTaken(position: StorePosition): void {
    this.#position = position
  }

  /**
   * Whether what runs stays in spite of the deletion.
   * @param next Of an entry that was told and is not taken yet.
   */
  isOlder(deletion: StorePosition, next: StorePosition | undefined): boolean {
    const verdict = evaluateDeletion(deletion, next ?? this.#position, this.#now())
    if (verdict.verdict === 'Remove') return false
    const { deployment } = this.#placement
    if (this.#olderDeletion !== verdict.reason)
      this.#log.warn('a deletion is left alone: it is older than what runs', { deployment, reason: verdict.reason })
    this.#olderDeletion = verdict.reason
    return true
  }

  #now(): number {
    return this.#clock.now().getTime()
  }
}
