/**
 * Holds deletions that no person asked for when they are suspiciously many. A controller *infers* a deletion from what it does
 * not see: an object that is missing after a list, a selector that no longer matches, a namespace that is gone. Such a view may
 * be wrong as a whole, after a backup was restored or rights were lost, and then everything would be deleted at once. RUNTIME-47.
 *
 *   few ──► Free: delete them                  more than the limit, within ten minutes ──► Held: delete none of them, list all
 *                                              a person releases the list that was shown ──► these are Free, others are not
 *
 * Deletions that a person declared (deletionTimestamp) never come here. Pure: time comes as a parameter, and the caller deletes.
 */
import { createHash } from 'node:crypto'

export interface InferredDeletion {
  /** Unique among the deletions of one brake. */
  readonly key: string
  /** Of what would be deleted: a release is for this one, not for what has the key later. */
  readonly revision: number | string
}

export interface BrakeLimits {
  /** Of a hundred. */
  readonly percent: number
  /** So many are free, however few there are in all. */
  readonly least: number
}

export const DEFAULT_BRAKE_LIMITS: BrakeLimits = { percent: 10, least: 20 }

/** Milliseconds for which a deletion counts, so that many in small steps are as many at once. */
export const BRAKE_WINDOW_MS = 600_000
/** So many lists that were shown are remembered: the set may change while a person reads it. */
const MAX_LISTS = 16

export type BrakeVerdict<D extends InferredDeletion = InferredDeletion> =
  | { readonly verdict: 'Free' }
  | {
      readonly verdict: 'Held'
      /** All that is held. */
      readonly deletions: readonly D[]
      /** Names exactly these deletions: the value by which a person releases them. Twelve hexadecimal digits. */
      readonly release: string
      /** So many would have been free. */
      readonly limit: number
      /** What the limit is a share of. */
      readonly total: number
    }

export interface BrakeDecision<D extends InferredDeletion = InferredDeletion> {
  /** To be deleted now. After that, `deleted` must be called with each. */
  readonly free: readonly D[]
  readonly verdict: BrakeVerdict<D>
}

export interface BrakeInput<D extends InferredDeletion = InferredDeletion> {
  /** All that would be deleted now, those that were held before included. */
  readonly deletions: readonly D[]
  /** Things of this kind that are there, those that would be deleted included. */
  readonly total: number
  /** The lists that a person released, separated by commas; undefined when none. */
  readonly released: string | undefined
  /** Milliseconds; any clock that only goes forward. */
  readonly now: number
  /** In place of those of the brake: they are written where a person may change them at any time. */
  readonly limits?: BrakeLimits
}

const idOf = ({ key, revision }: InferredDeletion): string => `${key}@${revision}`

/** Names one set of deletions, in whatever order they come. */
export const digestDeletions = (deletions: readonly InferredDeletion[]): string =>
  createHash('sha256').update(deletions.map(idOf).toSorted().join('\n')).digest('hex').slice(0, 12)

/** So many deletions are free. */
export const brakeLimit = (total: number, { percent, least }: BrakeLimits): number =>
  Math.max(least, Math.floor((total * percent) / 100))

/** One for each kind of thing that a controller deletes. `recent` and `recall` carry its count to the next process. */
export class DeletionBrake<D extends InferredDeletion = InferredDeletion> {
  readonly #limits: readonly BrakeLimits[]
  /** When each deletion was carried out that no person released. */
  #recent: number[] = []
  /** Once it holds, it holds until nothing is left to hold: time alone releases nothing. */
  #isHolding = false
  /** What was shown, by its release. */
  readonly #lists = new Map<string, ReadonlySet<string>>()
  /** What a person released and is not deleted yet. */
  #released: ReadonlySet<string> = new Set()

  /** @param limits Of several, the strictest counts. */
  constructor(...limits: readonly BrakeLimits[]) {
    this.#limits = limits.length === 0 ? [DEFAULT_BRAKE_LIMITS] : limits
  }

  /** What may be deleted now, and what is held. Call it with an empty list as well: it then no longer holds. */
  decide({ deletions, total, released, now, limits: given }: BrakeInput<D>): BrakeDecision<D> {
    this.#recent = this.#recent.filter((at) => now - at < BRAKE_WINDOW_MS)
    const lists = (released ?? '').split(',').map((release) => this.#listOf(release.trim(), deletions))
    const isListed = (id: string) => this.#released.has(id) || lists.some((list) => list?.has(id) === true)
    this.#released = new Set(deletions.map(idOf).filter(isListed))
    const isReleased = (deletion: D) => this.#released.has(idOf(deletion))
    const unreleased = deletions.filter((deletion) => !isReleased(deletion))
    // What is gone already belongs to what there was, or the share would shrink with each.
    const all = total + this.#recent.length
    const limit = Math.min(...(given === undefined ? this.#limits : [given]).map((limits) => brakeLimit(all, limits)))
    this.#isHolding = unreleased.length > 0 && (this.#isHolding || unreleased.length + this.#recent.length > limit)
    if (!this.#isHolding) return { free: deletions, verdict: { verdict: 'Free' } }
    const release = digestDeletions(unreleased)
    this.#remember(release, new Set(unreleased.map(idOf)))
    return {
      free: deletions.filter(isReleased),
      verdict: { verdict: 'Held', deletions: unreleased, release, limit, total: all },
    }
  }

  /**
   * It was carried out, or is about to be: it counts for ten minutes, unless a person released it.
   * @returns to be called when it was not carried out after all
   */
  deleted(deletion: D, now: number): () => void {
    if (this.#released.has(idOf(deletion))) return () => undefined
    this.#recent.push(now)
    return () => {
      const at = this.#recent.indexOf(now)
      if (at >= 0) this.#recent.splice(at, 1)
    }
  }

  /** When each deletion was carried out that counts. @param more Deletions that are about to be carried out. */
  recent(more: readonly D[], now: number): readonly number[] {
    const counted = more.filter((deletion) => !this.#released.has(idOf(deletion)))
    return [...this.#recent.filter((at) => now - at < BRAKE_WINDOW_MS), ...counted.map(() => now)]
  }

  /** What the brake before this one let through counts on, and what it held stays held. RUNTIME-71. */
  recall(recent: readonly number[], wasHolding = false): void {
    this.#recent.push(...recent)
    this.#isHolding ||= wasHolding
  }

  /** A list that another replica showed is known by its digest alone, and then it must be the same. */
  #listOf(released: string, deletions: readonly D[]): ReadonlySet<string> | undefined {
    const shown = this.#lists.get(released)
    if (shown !== undefined || deletions.length === 0) return shown
    return digestDeletions(deletions) === released ? new Set(deletions.map(idOf)) : undefined
  }

  #remember(release: string, ids: ReadonlySet<string>): void {
    this.#lists.delete(release)
    this.#lists.set(release, ids)
    const [oldest] = this.#lists.keys()
    if (this.#lists.size > MAX_LISTS && oldest !== undefined) this.#lists.delete(oldest)
  }
}
