/**
 * Which resource is pulsed when: every resource of the shard with the few facts the decision needs, in a heap by due time.
 *
 *   observe ─► waiting ─(due)─► take ─► in flight ─► pulsed | failed ─► waiting
 *
 * Bodies are let go at once; 50,000 resources take about 20 MiB.
 */

import { Heap, type HeapItem } from '#lib/heap/heap.ts'
import { type Backoff, IMMEDIATELY, nextPulse, type PulseHistory, type Reason, type ResourceState } from './decide.ts'
import { growBackoff, spreadOf } from './growth.ts'

/** A resource as the schedule takes it in; times are milliseconds since the epoch. */
export interface ObservedResource {
  readonly id: string
  readonly state: ResourceState
  /** Its own backoffs, where it asks for some. */
  readonly backoff?: Partial<Backoff> | undefined
  /** What was pulsed before this process met it; asked only then. */
  inferHistory(): PulseHistory
}

/** A pulse to send now. */
export interface DuePulse {
  readonly id: string
  readonly reason: Reason
  readonly generation: number
  readonly deleting: boolean
  /** Milliseconds from this pulse to the next, unless a report comes or the resource changes. */
  readonly waitMs?: number
}

export interface Counts {
  readonly ready: number
  readonly notReady: number
}

interface Entry extends HeapItem {
  readonly id: string
  /** The heap that it is in; undefined while it is in none. */
  heap: Heap<Entry> | undefined
  state: ResourceState
  history: PulseHistory
  backoff: Partial<Backoff> | undefined
  reason: Reason
  /** After a failed pulse: not before this moment. */
  notBefore: number
  /** That pulse is still due: no adapter has reported since. */
  isFailed: boolean
  /** The sweep that saw it last. */
  sweep: number
}

export class Schedule {
  readonly #entries = new Map<string, Entry>()
  /** What waits for its backoff. */
  readonly #heap = new Heap<Entry>()
  /** What is due at once, or as soon as the API may be asked again: it goes before what waits for a backoff (SENTINEL-38). */
  readonly #urgent = new Heap<Entry>()
  /** Ids whose pulse is on its way; kept apart so that one which leaves and comes back is still sent one pulse at a time. */
  readonly #inFlight = new Set<string>()
  #backoff: Backoff
  #sweep = 0
  #ready = 0
  #failedPulses = 0
  #latestNow = Number.NEGATIVE_INFINITY

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
  get failedPulses(): number {
    return this.#failedPulses
  }

  /** Takes in what a resource is like now. A reference from the future counts as now: clocks differ. */
  observe({ id, state: told, backoff, inferHistory }: ObservedResource, now: number): void {
    const state = { ...told, reference: Math.min(told.reference, now) }
    const known = this.#entries.get(id)
    if (known === undefined) {
      const entry: Entry = {
        id,
        state,
        history: inferHistory(),
        backoff,
        reason: 'New',
        notBefore: Number.NEGATIVE_INFINITY,
        isFailed: false,
        sweep: this.#sweep,
        at: 0,
        place: -1,
        heap: undefined,
      }
      this.#entries.set(id, entry)
      if (state.ready) this.#ready++
      this.#place(entry)
      return
    }
    this.#ready += Number(state.ready) - Number(known.state.ready)
    if (state.reference > known.state.reference || state.ready !== known.state.ready)
      known.history = { ...known.history, fruitless: 0 }
    known.state = state
    known.backoff = backoff
    known.sweep = this.#sweep
    this.#place(known)
  }

  /** The resource is gone, or left the shard. */
  forget(id: string): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    this.#entries.delete(id)
    this.#leaveHeaps(entry)
    if (entry.state.ready) this.#ready--
    this.#setFailed(entry, false)
  }

  /** Begins a look at the whole shard. */
  beginSweep(): void {
    this.#sweep++
  }

  /**
   * Ends it: what it did not see is gone.
   * @param exact false when the look may have missed a resource: then only what two looks in a row did not see is gone
   */
  endSweep(exact = true): void {
    const oldest = exact ? this.#sweep : this.#sweep - 1
    for (const entry of this.#entries.values()) if (entry.sweep < oldest) this.forget(entry.id)
  }

  /** The resource that is due first, now in flight until `pulsed` or `failed`; undefined when none is due. */
  take(now: number): DuePulse | undefined {
    this.#followClock(now)
    const entry = [this.#urgent.first(), this.#heap.first()].find((first) => first !== undefined && first.at <= now)
    return entry === undefined ? undefined : this.#start(entry)
  }

  /** The same for one resource. */
  takeIfDue(id: string, now: number): DuePulse | undefined {
    this.#followClock(now)
    const entry = this.#entries.get(id)
    return entry === undefined || this.#inFlight.has(id) || entry.at > now ? undefined : this.#start(entry)
  }

  /** The pulse was taken by the API. */
  pulsed({ id, generation, deleting, reason }: DuePulse, at: number): void {
    this.#finish(id, (entry) => {
      const fruitless = countFruitless(entry.history, reason)
      entry.history = { generation, deleting, pulsedAt: at, fruitless }
      entry.notBefore = Number.NEGATIVE_INFINITY
    })
  }

  /** It was not: the resource stays due, from `retryAt` on. */
  failed({ id }: DuePulse, retryAt: number): void {
    this.#finish(id, (entry) => {
      entry.notBefore = retryAt
    })
  }

  /** When the next resource is due; undefined when nothing waits. */
  nextDue(): number | undefined {
    const [urgent, waiting] = [this.#urgent.first()?.at, this.#heap.first()?.at]
    return urgent === undefined || waiting === undefined ? (urgent ?? waiting) : Math.min(urgent, waiting)
  }

  /** How many wait for their backoff: neither due nor in flight. */
  waiting(now: number): Counts {
    let { ready, notReady } = this.counts()
    const moving = [
      ...this.#urgent.upTo(now),
      ...this.#heap.upTo(now),
      ...[...this.#inFlight].map((id) => this.#entries.get(id)),
    ]
    for (const entry of moving) {
      if (entry?.state.ready === true) ready--
      else if (entry !== undefined) notReady--
    }
    return { ready, notReady }
  }

  /** New backoffs: everything is decided again, nothing is forgotten. */
  setBackoff(backoff: Backoff): void {
    this.#backoff = backoff
    for (const entry of this.#entries.values()) this.#place(entry)
  }

  #start(entry: Entry): DuePulse {
    this.#leaveHeaps(entry)
    this.#inFlight.add(entry.id)
    const { id, reason, state } = entry
    const { ready, generation, deleting } = state
    const backoff = this.#backoffOf(entry)
    const fruitless = countFruitless(entry.history, reason)
    const waitMs = ready ? backoff.ready : growBackoff(backoff, fruitless, spreadOf(id, fruitless))
    return { id, reason, generation, deleting, waitMs }
  }

  #finish(id: string, change: (entry: Entry) => void): void {
    this.#inFlight.delete(id)
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    change(entry)
    this.#place(entry)
  }

  #place(entry: Entry): void {
    if (this.#inFlight.has(entry.id)) return
    const { history, state } = entry
    const { fruitless = 0 } = history
    const spread = fruitless === 0 ? 0 : spreadOf(entry.id, fruitless)
    const { at, reason } = nextPulse(history, state, this.#backoffOf(entry), spread)
    entry.reason = reason
    entry.at = Math.max(at, entry.notBefore)
    this.#setFailed(entry, entry.notBefore > Number.NEGATIVE_INFINITY && at <= entry.notBefore)
    const heap = at === IMMEDIATELY ? this.#urgent : this.#heap
    if (entry.heap !== heap) this.#leaveHeaps(entry)
    entry.heap = heap
    heap.put(entry)
  }

  #backoffOf({ backoff }: Entry): Backoff {
    return backoff === undefined ? this.#backoff : { ...this.#backoff, ...backoff }
  }

  #leaveHeaps(entry: Entry): void {
    entry.heap?.remove(entry)
    entry.heap = undefined
  }

  #setFailed(entry: Entry, owed: boolean): void {
    this.#failedPulses += Number(owed) - Number(entry.isFailed)
    entry.isFailed = owed
  }

  /** A clock that was set back would leave pulses in the future for as long as it jumped: what lies ahead counts as now. */
  #followClock(now: number): void {
    if (now < this.#latestNow) {
      for (const entry of this.#entries.values()) {
        entry.state = { ...entry.state, reference: Math.min(entry.state.reference, now) }
        if (entry.history.pulsedAt !== undefined && entry.history.pulsedAt > now)
          entry.history = { ...entry.history, pulsedAt: now }
        entry.notBefore = Math.min(entry.notBefore, now)
        this.#place(entry)
      }
    }
    this.#latestNow = now
  }
}

/** How many pulses in a row no report followed, with this one, as long as none does. */
const countFruitless = ({ fruitless = 0 }: PulseHistory, reason: Reason): number =>
  reason === 'NotReadyBackoffExpired' ? fruitless + 1 : 0
