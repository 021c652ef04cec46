/**
 * What a task has applied for one HyperFleet resource. It is written down before an object is applied, so that a manager that is
 * killed at any step leaves nothing that the next one does not know. ADAPTER-62.
 *
 *   intend ─► (written) ─► apply ─► recordApplied ─► save
 *                                       delete ─► drop ─► save: removed when it is empty
 */
import type { InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { metadataOf } from '../run/resources/object.ts'
import { TaskError } from '../run/task-error.ts'
import type { JsonObject } from '../task/task.ts'
import { keyOfEntry, locationOf } from './entry.ts'
import { mergeEntries, saysTheSame } from './merge-entries.ts'

/** What is kept, in one state. */
export interface StoredInventory {
  /** Of the inventory itself: the mark of its objects. */
  readonly uid: string
  readonly resourceVersion: string
  /** When it was created, as its API server says. */
  readonly recordedAt?: string | undefined
  readonly objects: readonly InventoryObject[]
}

/** Where one inventory is kept. Every method throws what the API server failed with, as TaskError, or the signal's reason. */
export interface InventoryStorage {
  /** Undefined when there is none. */
  read(signal: AbortSignal): Promise<StoredInventory | undefined>
  /** @param before what was read last; undefined: there is none. @returns undefined when that is not so any more */
  write(
    objects: readonly InventoryObject[],
    before: StoredInventory | undefined,
    signal: AbortSignal,
  ): Promise<StoredInventory | undefined>
  /** @returns whether it is gone; false when it has changed since it was read */
  remove(before: StoredInventory, signal: AbortSignal): Promise<boolean>
}

export interface ResourceInventoryOptions {
  readonly storage: InventoryStorage
  readonly stored?: StoredInventory | undefined
  /** An inventory without objects is kept, because it also says that the task has reported for the resource. */
  readonly keepsEmpty?: boolean
  /** An object is in the inventory now, or no longer. */
  readonly onEntry?: (key: string, isThere: boolean) => void
}

/** Writes that lose against another writer, at most in a row. */
export const MAX_CONFLICTS = 10

export class ResourceInventory {
  readonly #options: ResourceInventoryOptions
  #stored: StoredInventory | undefined
  readonly #entries = new Map<string, InventoryObject>()
  /** Written down, and not sent to the API server yet. */
  readonly #unsent = new Set<string>()
  /** Gone since the last write: it is not taken over again from what another writer has left of it. */
  readonly #dropped = new Set<string>()
  /** The task was about to leave it, goes on with it, and has not applied it since. */
  readonly #resumed = new Set<string>()
  #dirty = false
  /** It was created, as far as we know, and the answer did not come. */
  #isUnsure = false

  constructor(options: ResourceInventoryOptions) {
    this.#options = options
    this.#take(options.stored)
  }

  /** Undefined when nothing is recorded. */
  get mark(): string | undefined {
    return this.#stored?.uid
  }

  /** Of the last write that is known: another one for each. */
  get version(): string {
    return this.#stored?.resourceVersion ?? ''
  }

  /** When it was created, as its API server says. Undefined when nothing is recorded. */
  get recordedAt(): string | undefined {
    return this.#stored?.recordedAt
  }

  /** Also when it is not known. */
  get isRecorded(): boolean {
    return this.#stored !== undefined || this.#isUnsure
  }

  /** By key. */
  get entries(): ReadonlyMap<string, InventoryObject> {
    return this.#entries
  }

  /** Whether it is written down, and not only about to be applied for the first time. */
  wasSent(key: string): boolean {
    return this.#entries.has(key) && !this.#unsent.has(key)
  }

  /** Reads what is kept: another manager may have written since. */
  async refresh(signal: AbortSignal): Promise<void> {
    const stored = await this.#options.storage.read(signal)
    if (stored?.resourceVersion !== this.#stored?.resourceVersion) this.#take(stored)
    this.#stored = stored
    this.#isUnsure = false
  }

  /** What others have written into it since is known from now on, and what the run has not written yet stays. */
  async hear(signal: AbortSignal): Promise<void> {
    if (this.#stored !== undefined) await this.#merge(signal, 0)
  }

  /**
   * Writes down what is going to be applied, unless it stands there.
   * @returns the mark that these objects have to carry
   */
  async intend(objects: readonly InventoryObject[], signal: AbortSignal): Promise<string> {
    let isNew = this.#stored === undefined
    for (const object of objects) {
      const key = keyOfEntry(object)
      const before = this.#entries.get(key)
      if (before === undefined) {
        isNew = true
        this.#unsent.add(key)
        this.#set(key, object)
      } else if (before.hold !== undefined || !saysTheSame(before, object)) {
        const { generation, uid, share } = before
        this.#set(key, { ...object, generation, ...(uid !== undefined && { uid }), ...(share && { share }) })
        // Others are told before it is applied: they would not leave it to this one.
        isNew ||= before.hold !== undefined
        this.#dirty = true
      }
    }
    const stored = isNew ? await this.#write(signal) : this.#stored
    return stored?.uid ?? ''
  }

  /** The object that was recorded is there no more, and another one is going to be applied: until the answer, the mark shows which. */
  async renew(object: InventoryObject, signal: AbortSignal): Promise<void> {
    this.#set(keyOfEntry(object), object)
    await this.#write(signal)
  }

  /** The request that applies it is about to be sent: from now on it may be there. */
  markSent(object: InventoryObject): void {
    this.#unsent.delete(keyOfEntry(object))
  }

  /** It was applied, and the server has answered with it. @param share when another task has it too. @returns its key */
  recordApplied(object: InventoryObject, answer: JsonObject, share?: InventoryObject['share']): string {
    const { uid } = metadataOf(answer)
    // The server knows better whether the kind has namespaces.
    const place = object.url === undefined && uid !== undefined ? locationOf(answer) : {}
    const { namespace: _, ...rest } = object
    const applied: InventoryObject =
      object.url === undefined && uid !== undefined ? { ...rest, ...place, uid } : { ...object }
    const key = keyOfEntry(applied)
    if (key !== keyOfEntry(object)) this.drop([keyOfEntry(object)])
    const before = this.#entries.get(key)
    // An object that others once had may still be theirs: their inventories are asked.
    const known = share ?? (before?.share !== undefined && before.uid === applied.uid ? 'First' : undefined)
    if (before?.uid !== applied.uid || before?.generation !== applied.generation || before?.share !== known)
      this.#dirty = true
    this.#set(key, { ...applied, ...(known && { share: known }) })
    this.#resumed.delete(key)
    return key
  }

  /** Before the inventories of other tasks are asked whether they have the object: those that leave it at the same time don't leave it to this one. ADAPTER-122 */
  async announceLeaving(key: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.hold === 'Leaving') return
    this.#set(key, { ...entry, hold: 'Leaving' })
    await this.#write(signal)
  }

  /** Another task has it too. @param share `Beside` when that one is the first: no other task waits for this one then. ADAPTER-125 */
  noteShared(key: string, share: NonNullable<InventoryObject['share']> = 'First'): void {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.share === share || (share === 'First' && entry.share !== undefined)) return
    this.#set(key, { ...entry, share })
    this.#dirty = true
  }

  /** The task does nothing with what it has applied any more, and it stays. To be saved. ADAPTER-123 */
  keepAll(): void {
    for (const [key, entry] of this.#entries) {
      if (entry.hold === 'Kept') continue
      this.#set(key, { ...entry, hold: 'Kept' })
      this.#dirty = true
    }
  }

  /** The task goes on with what it was about to leave: others leave it to this one again. To be saved before it is applied. @returns whether there is any. ADAPTER-124 */
  resumeAll(): boolean {
    for (const [key, entry] of this.#entries) {
      if (entry.hold !== 'Leaving') continue
      const { hold: _, ...rest } = entry
      this.#set(key, rest)
      this.#resumed.add(key)
      this.#dirty = true
    }
    return this.#resumed.size > 0
  }

  isResumed(key: string): boolean {
    return this.#resumed.has(key)
  }

  /** They are gone. */
  drop(keys: Iterable<string>): void {
    for (const key of keys) {
      if (!this.#entries.delete(key)) continue
      this.#unsent.delete(key)
      this.#resumed.delete(key)
      this.#dropped.add(key)
      this.#dirty = true
      this.#options.onEntry?.(key, false)
    }
  }

  /** Writes what has changed since the last write. @param isFinal the task has nothing more to do with the resource */
  async save(signal: AbortSignal, isFinal = false): Promise<void> {
    this.drop([...this.#unsent])
    const isUnneeded = (isFinal || this.#options.keepsEmpty !== true) && this.#stored !== undefined
    for (let attempt = 0; this.#entries.size === 0 && isUnneeded && this.#stored !== undefined; attempt++) {
      if (await this.#options.storage.remove(this.#stored, signal)) {
        this.#stored = undefined
        this.#written()
        return
      }
      await this.#merge(signal, attempt)
    }
    if (this.#dirty && this.#stored !== undefined) await this.#write(signal)
  }

  async #write(signal: AbortSignal): Promise<StoredInventory> {
    for (let attempt = 0; ; attempt++) {
      this.#isUnsure ||= this.#stored === undefined
      const written = await this.#options.storage.write([...this.#entries.values()], this.#stored, signal)
      if (written !== undefined) {
        this.#stored = written
        this.#written()
        return written
      }
      await this.#merge(signal, attempt)
    }
  }

  #written(): void {
    this.#isUnsure = false
    this.#dirty = false
    this.#dropped.clear()
  }

  /** Another manager has written it, which may have had the task before us. What it knows is not lost. */
  async #merge(signal: AbortSignal, attempt: number): Promise<void> {
    if (attempt >= MAX_CONFLICTS)
      throw new TaskError('InventoryFailed', 'the inventory is written by another manager all the time')
    const known = new Map((this.#stored?.objects ?? []).map((object) => [keyOfEntry(object), object]))
    this.#stored = await this.#options.storage.read(signal)
    for (const stored of this.#stored?.objects ?? []) {
      const key = keyOfEntry(stored)
      const own = this.#entries.get(key)
      const merged = mergeEntries({ known: known.get(key), own, isDropped: this.#dropped.has(key), stored })
      if (merged !== undefined) this.#set(key, merged)
      // It is there: another resource or task has left it to this one.
      if (merged?.uid !== undefined) this.#unsent.delete(key)
    }
  }

  #take(stored: StoredInventory | undefined): void {
    const objects = new Map((stored?.objects ?? []).map((object) => [keyOfEntry(object), object]))
    for (const key of this.#entries.keys())
      if (!objects.has(key)) {
        this.#entries.delete(key)
        this.#options.onEntry?.(key, false)
      }
    for (const [key, object] of objects) this.#set(key, object)
    this.#stored = stored
    this.#unsent.clear()
    this.#written()
  }

  #set(key: string, object: InventoryObject): void {
    const isNew = !this.#entries.has(key)
    this.#entries.set(key, object)
    this.#dropped.delete(key)
    if (isNew) this.#options.onEntry?.(key, true)
  }
}
