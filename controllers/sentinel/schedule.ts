/**
 * Who is pulsed when: every resource of the shard with the few facts the decision needs, in a heap by due time.
 *
 *   observe ─► waiting ─(due)─► take ─► in flight ─► pulsed | failed ─► waiting
 *
 * Bodies are let go at once; 50,000 resources take about 20 MiB.
 */

import { Heap, type HeapItem } from '#lib/heap/heap.ts'
import { type Backoff, type Facts, nextPulse, type Reason, type Seen } from './decision.ts'

/** A resource as the schedule takes it in; times are milliseconds since the epoch. */
export interface Sighting {
  readonly id: string
  readonly facts: Facts
  /** Its own backoffs, where it asks for some. */
  readonly backoff?: Partial<Backoff> | undefined
  /** What was pulsed before this process met it; asked only then. */
  recall(): Seen
}

/** A pulse to send now. */
export interface Due {
  readonly id: string
  readonly reason: Reason
  readonly generation: number
  readonly deleting: boolean
}

export interface Counts {
  readonly ready: number
  readonly notReady: number
}

interface Entry extends HeapItem {
  readonly id: string
  facts: Facts
  seen: Seen
  backoff: Partial<Backoff> | undefined
  reason: Reason
  /** After a failed pulse: not before this moment. */
  notBefore: number
  /** That pulse is still due: nobody has reported since. */
  owed: boolean
  /** The sweep that saw it last. */
  sweep: number
}

export class Schedule {
  readonly #entries = new Map<string, Entry>()
  readonly #heap = new Heap<Entry>()
  /** Ids whose pulse is on its way; kept apart so that one which leaves and comes back is still sent one pulse at a time. */
  readonly #inFlight = new Set<string>()
  #backoff: Backoff
  #sweep = 0
  #ready = 0
  #owed = 0
  #latest = Number.NEGATIVE_INFINITY

  constructor(backoff: Backoff) {
    this.#backoff = backoff
  }

  get size(): number {
    return this.#entries.size
  }

  counts(): Counts {
    return { ready: this.#ready, notReady: this.#entries.size - this.#ready }
  }

  /** How many pulses are on their way. */
  get inFlight(): number {
    return this.#inFlight.size
  }

  /** How many pulses failed and are to be sent again. */
  get owed(): number {
    return this.#owed
  }

  /** Takes in what a resource is like now. A reference from the future counts as now: clocks differ. */
  observe({ id, facts: told, backoff, recall }: Sighting, now: number): void {
    const facts = { ...told, reference: Math.min(told.reference, now) }
    const known = this.#entries.get(id)
    if (known === undefined) {
      const entry: Entry = {
        id,
        facts,
        seen: recall(),
        backoff,
        reason: 'New',
        notBefore: Number.NEGATIVE_INFINITY,
        owed: false,
        sweep: this.#sweep,
        at: 0,
        place: -1,
      }
      this.#entries.set(id, entry)
      if (facts.ready) this.#ready++
      this.#place(entry)
      return
    }
    this.#ready += Number(facts.ready) - Number(known.facts.ready)
    known.facts = facts
    known.backoff = backoff
    known.sweep = this.#sweep
    this.#place(known)
  }

  /** The resource is gone, or left the shard. */
  forget(id: string): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    this.#entries.delete(id)
    this.#heap.remove(entry)
    if (entry.facts.ready) this.#ready--
    this.#owe(entry, false)
  }

  /** Begins a look at the whole shard. */
  beginSweep(): void {
    this.#sweep++
  }

  /**
   * Ends it: what it did not see is gone.
   * @param exact false when the look may have missed someone: then only what two looks in a row did not see is gone
   */
  endSweep(exact = true): void {
    const oldest = exact ? this.#sweep : this.#sweep - 1
    for (const entry of this.#entries.values()) if (entry.sweep < oldest) this.forget(entry.id)
  }

  /** The resource that is due first, now in flight until `pulsed` or `failed`; undefined when none is due. */
  take(now: number): Due | undefined {
    this.#follow(now)
    const entry = this.#heap.first()
    return entry === undefined || entry.at > now ? undefined : this.#lift(entry)
  }

  /** The same for one resource. */
  takeIfDue(id: string, now: number): Due | undefined {
    this.#follow(now)
    const entry = this.#entries.get(id)
    return entry === undefined || this.#inFlight.has(id) || entry.at > now ? undefined : this.#lift(entry)
  }

  /** The pulse was taken by the API. */
  pulsed({ id, generation, deleting }: Due, at: number): void {
    this.#land(id, (entry) => {
      entry.seen = { generation, deleting, pulsedAt: at }
      entry.notBefore = Number.NEGATIVE_INFINITY
    })
  }

  /** It was not: the resource stays due, from `retryAt` on. */
  failed({ id }: Due, retryAt: number): void {
    this.#land(id, (entry) => {
      entry.notBefore = retryAt
    })
  }

  /** When the next resource is due; undefined when nothing waits. */
  nextDue(): number | undefined {
    return this.#heap.first()?.at
  }

  /** How many wait for their backoff: neither due nor in flight. */
  waiting(now: number): Counts {
    let { ready, notReady } = this.counts()
    const moving = [...this.#heap.upTo(now), ...[...this.#inFlight].map((id) => this.#entries.get(id))]
    for (const entry of moving) {
      if (entry?.facts.ready === true) ready--
      else if (entry !== undefined) notReady--
    }
    return { ready, notReady }
  }

  /** New backoffs: everything is decided again, nothing is forgotten. */
  retune(backoff: Backoff): void {
    this.#backoff = backoff
    for (const entry of this.#entries.values()) this.#place(entry)
  }

  #lift(entry: Entry): Due {
    this.#heap.remove(entry)
    this.#inFlight.add(entry.id)
    return { id: entry.id, reason: entry.reason, generation: entry.facts.generation, deleting: entry.facts.deleting }
  }

  #land(id: string, change: (entry: Entry) => void): void {
    this.#inFlight.delete(id)
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    change(entry)
    this.#place(entry)
  }

  #place(entry: Entry): void {
    if (this.#inFlight.has(entry.id)) return
    const backoff = entry.backoff === undefined ? this.#backoff : { ...this.#backoff, ...entry.backoff }
    const { at, reason } = nextPulse(entry.seen, entry.facts, backoff)
    entry.reason = reason
    entry.at = Math.max(at, entry.notBefore)
    this.#owe(entry, entry.notBefore > Number.NEGATIVE_INFINITY && at <= entry.notBefore)
    this.#heap.put(entry)
  }

  #owe(entry: Entry, owed: boolean): void {
    this.#owed += Number(owed) - Number(entry.owed)
    entry.owed = owed
  }

  /** A clock that was set back would leave pulses in the future for as long as it jumped: what lies ahead counts as now. */
  #follow(now: number): void {
    if (now < this.#latest) {
      for (const entry of this.#entries.values()) {
        entry.facts = { ...entry.facts, reference: Math.min(entry.facts.reference, now) }
        if (entry.seen.pulsedAt !== undefined && entry.seen.pulsedAt > now)
          entry.seen = { ...entry.seen, pulsedAt: now }
        entry.notBefore = Math.min(entry.notBefore, now)
        this.#place(entry)
      }
    }
    this.#latest = now
  }
}
