/**
 * One lane for each resource: runs for one resource never overlap, and what comes while one runs becomes one more run. Across
 * resources there are so many runs at the same time and no more.
 */
import type { ReconcileEvent } from '../events/reconcile-event.ts'
import type { Delivery } from '../events/source.ts'

/** What a run is begun with. */
export interface WorkItem {
  /** The newest one. */
  readonly event: ReconcileEvent
  /** All that this run answers; none when nothing but a change of an applied object asked for it. */
  readonly deliveries: readonly Delivery[]
}

export interface KeyedQueueOptions {
  /** Never rejects. */
  work(turn: WorkItem): Promise<void>
  /** How many runs may go on at the same time, asked whenever one could begin. */
  maxConcurrent(): number
  /** A run has ended, so there may be room. */
  onCapacity(): void
}

interface PendingItem {
  event: ReconcileEvent
  deliveries: Delivery[]
}

export class KeyedQueue {
  readonly #options: KeyedQueueOptions
  /** By id of the resource, in the order in which they came. */
  readonly #waiting = new Map<string, PendingItem>()
  readonly #running = new Map<string, { readonly turn: WorkItem; readonly done: Promise<void> }>()
  #closed = false

  constructor(options: KeyedQueueOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#running.size
  }

  get waiting(): number {
    return this.#waiting.size
  }

  isRunning(id: string): boolean {
    return this.#running.has(id)
  }

  /** Deliveries that somebody has to keep hidden from others meanwhile. */
  get deliveries(): readonly Delivery[] {
    return [
      ...[...this.#waiting.values()].flatMap(({ deliveries }) => deliveries),
      ...[...this.#running.values()].flatMap(({ turn }) => turn.deliveries),
    ]
  }

  /** Asks for a run. Several for one resource that wait together become one. */
  add(event: ReconcileEvent, delivery?: Delivery): void {
    const id = event.data.id
    const lane = this.#waiting.get(id) ?? { event, deliveries: [] }
    lane.event = newerEvent(lane.event, event)
    if (delivery !== undefined) lane.deliveries.push(delivery)
    this.#waiting.set(id, lane)
    this.startNext()
  }

  /** Begins nothing more, and resolves when nothing runs. @returns what was waiting */
  async close(): Promise<readonly Delivery[]> {
    this.#closed = true
    const left = [...this.#waiting.values()].flatMap(({ deliveries }) => deliveries)
    this.#waiting.clear()
    await Promise.all([...this.#running.values()].map(({ done }) => done))
    return left
  }

  startNext(): void {
    for (const [id, lane] of this.#waiting) {
      if (this.#closed || this.#running.size >= this.#options.maxConcurrent()) return
      if (this.#running.has(id)) continue
      this.#waiting.delete(id)
      const turn: WorkItem = lane
      const done = this.#options.work(turn).then(() => {
        this.#running.delete(id)
        this.startNext()
        this.#options.onCapacity()
      })
      this.#running.set(id, { turn, done })
    }
  }
}

/** The one that speaks of the newer generation; of equals the one that came later. */
const newerEvent = (a: ReconcileEvent, b: ReconcileEvent): ReconcileEvent => {
  const generation = ({ data }: ReconcileEvent) => (typeof data.generation === 'number' ? data.generation : 0)
  return generation(b) >= generation(a) ? b : a
}
