import type { ClusterRecord, Owner } from './record.ts'

/**
 * The records of registered clusters as the API's stream last told of them. It says cheaply that nothing is to be done; what is to
 * be done is decided again on what the API answers.
 */
export class RecordCache {
  readonly #byId = new Map<string, ClusterRecord>()
  readonly #byRegistration = new Map<string, Set<string>>()
  /** While everything is told anew: what was not told yet. */
  unconfirmed: Set<string> | undefined
  readonly #waiting = new Map<string, Owner>()
  /** Why it does not show what is true; undefined when it does. */
  outage: string | undefined = 'the HyperFleet API has not told yet which clusters it has'

  /** Those of one registration, the oldest first: there should be one at most. */
  of(registration: string): readonly ClusterRecord[] {
    return [...(this.#byRegistration.get(registration) ?? [])].flatMap((id) => this.#byId.get(id) ?? []).toSorted(byAge)
  }

  /** This ClusterDeployment can't go on before it shows what is true. Noted here and not read from its status, which comes back later. */
  addWaiting(owner: Owner): void {
    this.#waiting.set(`${owner.namespace}/${owner.name}`, owner)
  }

  /** @returns the objects that waited, each once */
  takeWaiting(): readonly Owner[] {
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    return waiting
  }

  /** All that are not being deleted. */
  *living(): Iterable<ClusterRecord> {
    for (const record of this.#byId.values()) if (!record.deleting) yield record
  }

  get size(): number {
    return this.#byId.size
  }

  /** @returns whom it concerns, also whom it concerned before */
  put(record: ClusterRecord): readonly Owner[] {
    const before = this.#byId.get(record.id)
    this.#unlink(before)
    const { installConfig: _, ...kept } = record
    this.#byId.set(record.id, kept)
    this.unconfirmed?.delete(record.id)
    if (record.registration !== undefined) {
      const ids = this.#byRegistration.get(record.registration) ?? new Set()
      this.#byRegistration.set(record.registration, ids.add(record.id))
    }
    return ownersOf(before, record)
  }

  /** @returns whom it concerned */
  forget(id: string): readonly Owner[] {
    const before = this.#byId.get(id)
    this.#unlink(before)
    this.#byId.delete(id)
    this.unconfirmed?.delete(id)
    return ownersOf(before)
  }

  /** Everything is told from now on. */
  beginSweep(): void {
    this.unconfirmed = new Set(this.#byId.keys())
  }

  /** Everything was told: what was not is gone. @returns whom that concerns */
  endSweep(): readonly Owner[] {
    const gone = [...(this.unconfirmed ?? [])]
    this.unconfirmed = undefined
    return gone.flatMap((id) => this.forget(id))
  }

  #unlink(record: ClusterRecord | undefined): void {
    if (record?.registration === undefined) return
    const ids = this.#byRegistration.get(record.registration)
    ids?.delete(record.id)
    if (ids?.size === 0) this.#byRegistration.delete(record.registration)
  }
}

/** The oldest first; ties by id, so that every replica keeps the same one. */
export const byAge = (a: ClusterRecord, b: ClusterRecord): number => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)

const ownersOf = (...records: readonly (ClusterRecord | undefined)[]): readonly Owner[] =>
  records.flatMap((record) => record?.owner ?? [])
