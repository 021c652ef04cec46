/**
 * Whether the objects of a resource may go that the HyperFleet API does not have any more, or that the task does not select any more. A
 * deletion that the API ordered (`deleted_time`, and then the record is gone) is declared. Any other is *inferred*, from an answer or
 * from labels: an API that was restored from yesterday gives that answer for many at once, and so does a selector with a slip of the
 * pen; these are held. One answer proves nothing: a deletion waits until a look at all resources, begun after it was first inferred,
 * has found the same, so that what is lost together is judged together. The count outlives the process. ADAPTER-75, ADAPTER-76,
 * ADAPTER-87, ADAPTER-140, ADAPTER-141, ADAPTER-142, RUNTIME-71.
 */
import { type AdapterTaskStatus, MAX_BEGUN_DELETIONS } from '#apis/hyperfleet.redhat.com/v1alpha1/task/schema.ts'
import { type BrakeTimes, recallTime } from '#operator/model/brake-record.ts'
import {
  BRAKE_WINDOW_MS,
  type BrakeVerdict,
  DeletionBrake,
  type InferredDeletion,
} from '#operator/model/deletion-brake.ts'
import type { WakeSignal } from '#operator/model/wake-signal.ts'
import type { ResourceBrake } from '../run/run-context.ts'

/** The least time between two looks at all resources, in milliseconds: one costs a request for fifty. */
export const LOOK_REST_MS = 2_000

/** On the AdapterTask: the lists that a person releases, separated by commas. */
export const RELEASE_ANNOTATION = 'muster.dev/release-deletions'

/** A resource whose objects would be deleted; the revision is its inventory's uid. */
export interface LostResource extends InferredDeletion {
  readonly why: 'gone' | 'unselected'
}

export type HeldResources = Extract<BrakeVerdict<LostResource>, { readonly verdict: 'Held' }>

export interface InferredDeletionsOptions {
  /** The value of the annotation. */
  readonly released: () => string | undefined
  /** Milliseconds of a clock that only goes forward. */
  readonly now: () => number
  /** Others are held than before, or none are any more. */
  readonly onChange: (held: HeldResources | undefined) => void
  /** Woken when a deletion was inferred, which a look at all resources is to decide. */
  readonly soon: WakeSignal
  /** Writes down what the brake has let through, before it is deleted. @throws Error when that fails */
  readonly record: () => Promise<void>
  /** What the process before this one let through, by the clock of `now`, whether it held any, and what it began and counted. */
  readonly before?: {
    readonly recent: readonly number[]
    readonly isHolding: boolean
    readonly begun?: readonly BegunDeletion[]
  }
}

/** A deletion that was let through, and is counted while that is less than ten minutes ago. */
export interface BegunDeletion {
  /** Of the inventory. */
  readonly uid: string
  /** By the clock of `now`. */
  readonly at: number
}

/** As a status has them; one whose time can't be read counts for nothing. @param now milliseconds of a clock that only goes forward */
export const recallBegun = (
  begun: AdapterTaskStatus['begunDeletions'] | null,
  now: number,
): readonly BegunDeletion[] => {
  const read = (begun ?? []).map(({ inventory, time }) => ({ uid: inventory, recorded: Date.parse(time) }))
  const known = read.filter(({ recorded }) => !Number.isNaN(recorded))
  const newest = Math.max(...known.map(({ recorded }) => recorded))
  return known
    .map(({ uid, recorded }) => ({ uid, at: recallTime(recorded, newest, now) }))
    .filter(({ at }) => now - at < BRAKE_WINDOW_MS)
}

export const recordBegun = (begun: readonly BegunDeletion[], { epoch }: Pick<BrakeTimes, 'epoch'>) =>
  begun.map(({ uid, at }) => ({ inventory: uid, time: new Date(at + epoch).toISOString() }))

/** Of one task; it lives as long as the manager leads for it, so that a change of the task frees nothing. */
export class InferredDeletions {
  readonly #options: InferredDeletionsOptions
  readonly #brake = new DeletionBrake<LostResource>()
  /** Ids of resources that the API said are to be deleted. */
  readonly #declared = new Set<string>()
  /** Lost without that, and not decided yet or held; by id. */
  #inferred = new Map<string, LostResource>()
  /** The revisions of those that may go since the last look, by id. */
  #free = new Map<string, LostResource['revision']>()
  /** Those whose deletion has begun, by id. */
  #begun = new Map<string, BegunDeletion>()
  /** What the process before this one began, by uid: counted already, so it goes on and does not count anew. ADAPTER-109. */
  #recalled: ReadonlyMap<string, BegunDeletion>
  /** Ids of which a run and a look, or two looks, were told different things: what is inferred of them hastens no look. */
  readonly #disputed = new Set<string>()
  #held: HeldResources | undefined
  /** When the last look ended. */
  #lookedAt = Number.NEGATIVE_INFINITY
  /** Resources with an inventory. */
  #total = 0

  constructor(options: InferredDeletionsOptions) {
    this.#options = options
    const { before } = options
    if (before !== undefined) this.#brake.recall(before.recent, before.isHolding)
    this.#recalled = new Map(before?.begun?.map((one) => [one.uid, one]))
  }

  /** Woken when a look at all resources is needed before its time. */
  get soon(): WakeSignal {
    return this.#options.soon
  }

  /** Undefined when nothing is held. */
  get held(): HeldResources | undefined {
    return this.#held
  }

  /** When the brake let something through that still counts, by the clock of `now`. */
  get recent(): readonly number[] {
    return this.#brake.recent([], this.#options.now())
  }

  /** What has begun and still counts: the next process does not count it anew. The last, as many as a status has. */
  get begun(): readonly BegunDeletion[] {
    const now = this.#options.now()
    const known = new Map([...this.#recalled, ...[...this.#begun.values()].map((one) => [one.uid, one] as const)])
    return [...known.values()].filter(({ at }) => now - at < BRAKE_WINDOW_MS).slice(-MAX_BEGUN_DELETIONS)
  }

  /** @param revision uid of the inventory */
  of(id: string, revision: () => string): ResourceBrake {
    return {
      observe: (resource) => this.#observe(id, resource),
      mayDelete: (why) => this.#mayDelete({ key: id, revision: revision(), why }),
    }
  }

  /**
   * Begins a look at all resources.
   * @returns what takes its end: what is lost, of what is known, and gives the ids of those whose objects may go
   */
  look(): (lost: readonly LostResource[], known: ReadonlySet<string>) => ReadonlySet<string> {
    // After a restart of the task one may begin where the last one ended: both may have been told the same wrong thing.
    const isTooSoon = this.#options.now() - this.#lookedAt < LOOK_REST_MS / 2
    const before = new Map(isTooSoon ? [] : this.#inferred)
    const declared = new Set(this.#declared)
    return (lost, known) => {
      // One that got its inventory and its order since the look began is not known to it.
      for (const id of declared) if (!known.has(id)) this.#declared.delete(id)
      this.#review(lost, known, before)
      this.#lookedAt = this.#options.now()
      const free = (id: string) => this.#isDecided(id) || this.#free.has(id)
      return new Set(lost.map(({ key }) => key).filter(free))
    }
  }

  /**
   * @param lost those with an inventory that the API does not have, or that live and are not selected
   * @param known ids of all with an inventory
   * @param before what was inferred when the look began
   */
  #review(lost: readonly LostResource[], known: ReadonlySet<string>, before: ReadonlyMap<string, LostResource>): void {
    const ids = new Set(lost.map(({ key }) => key))
    for (const one of lost) this.#continue(one)
    this.#recalled = new Map()
    this.#begun = new Map([...this.#begun].filter(([id]) => ids.has(id)))
    this.#total = known.size
    const still = this.#inferred
    const isConfirmed = ({ key, revision }: LostResource) =>
      before.get(key)?.revision === revision && still.get(key)?.revision === revision
    // What a run found while the look was under way may be missing in it.
    const since = [...this.#inferred].filter(([id]) => !before.has(id))
    this.#inferred = new Map([...since, ...lost.map((one) => [one.key, one] as const)])
    for (const id of this.#inferred.keys()) if (this.#isDecided(id)) this.#inferred.delete(id)
    this.#free = new Map(
      this.#decide()
        .filter(isConfirmed)
        .map(({ key, revision }) => [key, revision]),
    )
    this.#dispute(ids, known, before)
    const isOpen = (id: string) => !this.#free.has(id) && !this.#disputed.has(id)
    if (this.#held === undefined && [...this.#inferred.keys()].some(isOpen)) this.#options.soon.wake()
  }

  /** Remembers those of which this look was told something else than what was inferred, until both tell the same. */
  #dispute(lost: ReadonlySet<string>, known: ReadonlySet<string>, before: ReadonlyMap<string, LostResource>): void {
    for (const id of this.#disputed) if (lost.has(id) === before.has(id)) this.#disputed.delete(id)
    for (const id of before.keys()) if (known.has(id) && !lost.has(id)) this.#disputed.add(id)
  }

  #isDecided(id: string): boolean {
    return this.#declared.has(id) || this.#begun.has(id)
  }

  #continue({ key, revision }: LostResource): void {
    const begun = this.#recalled.get(String(revision))
    if (begun !== undefined) this.#begun.set(key, begun)
  }

  #observe(id: string, { isDeleting, isSelected }: Parameters<ResourceBrake['observe']>[0]): void {
    if (isDeleting) this.#declared.add(id)
    else this.#declared.delete(id)
    if (!isDeleting && !isSelected) return
    if (this.#inferred.has(id)) this.#disputed.add(id)
    this.#inferred.delete(id)
    this.#begun.delete(id)
    this.#free.delete(id)
  }

  async #mayDelete(deletion: LostResource): Promise<boolean> {
    const { key, revision } = deletion
    this.#continue(deletion)
    if (this.#isDecided(key)) return true
    if (this.#inferred.get(key)?.revision !== revision && !this.#disputed.has(key)) this.#options.soon.wake()
    this.#inferred.set(key, deletion)
    if (this.#free.get(key) !== revision) return false
    const at = this.#options.now()
    const takeBack = this.#brake.deleted(deletion, at)
    this.#inferred.delete(key)
    this.#begun.set(key, { uid: String(revision), at })
    try {
      await this.#options.record()
    } catch (error) {
      takeBack()
      this.#begun.delete(key)
      this.#inferred.set(key, deletion)
      throw error
    }
    return true
  }

  /** @returns those that the brake lets through */
  #decide(): readonly LostResource[] {
    const { released, now, onChange } = this.#options
    const deletions = [...this.#inferred.values()]
    const { free, verdict } = this.#brake.decide({ deletions, total: this.#total, released: released(), now: now() })
    const before = this.#held?.release
    this.#held = verdict.verdict === 'Held' ? verdict : undefined
    if (this.#held?.release !== before) onChange(this.#held)
    return free
  }
}

const MAX_NAMES = 20

/** For people: how many, which, and what releases them. */
export const describeHeld = ({ deletions, release, limit }: HeldResources, maxNames = MAX_NAMES): string => {
  const gone = deletions.filter(({ why }) => why === 'gone')
  const unselected = deletions.filter(({ why }) => why === 'unselected')
  const parts = [
    gone.length > 0 &&
      `the HyperFleet API does not have ${gone.length} resources any more and never said that they are to be deleted: ${listIds(gone, maxNames)}`,
    unselected.length > 0 &&
      `the task does not select ${unselected.length} resources any more: ${listIds(unselected, maxNames)}`,
  ].filter((text) => text !== false)
  return `${parts.join('; ')}. More than ${limit} at once are held, and what was applied for them stays. Find out what happened to the API, to the labels or to the selector; release them with the annotation ${RELEASE_ANNOTATION}=${release}`
}

const listIds = (deletions: readonly LostResource[], maxNames: number): string => {
  const rest = deletions.length - maxNames
  const named = deletions.slice(0, maxNames).map(({ key }) => key)
  return `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
