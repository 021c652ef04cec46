/**
 * Work items by resource, as a controller's work queue: runs for one resource never overlap, and events that come during a run become
 * one more run (ADAPTER-19). Across resources a bounded number of runs goes on at once (ADAPTER-20).
 */
import type { ReconcileEvent } from '../events/reconcile-event.ts'
import type { Delivery } from '../events/source.ts'

/** What a run is started with. */
export interface WorkItem {
  /** The newest one. */
  readonly event: ReconcileEvent
  /** The deliveries that this run answers; none when a change of an applied object started it. */
  readonly deliveries: readonly Delivery[]
}

export interface RunQueueOptions {
  /** Never rejects. */
  work(item: WorkItem): Promise<void>
  /** How many runs may go on at once; read before each start. */
  maxConcurrent(): number
  /** A run has ended, so that more events may be taken. */
  onCapacity(): void
}

interface PendingItem {
  event: ReconcileEvent
  deliveries: Delivery[]
}

export class RunQueue {
  readonly #options: RunQueueOptions
  /** By id of the resource, in the order in which they came. */
  readonly #waiting = new Map<string, PendingItem>()
  readonly #running = new Map<string, { readonly item: WorkItem; readonly done: Promise<void> }>()
  #closed = false

  constructor(options: RunQueueOptions) {
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

  /** Deliveries that wait or are worked on; their visibility has to be extended meanwhile. */
  get deliveries(): readonly Delivery[] {
    return [
      ...[...this.#waiting.values()].flatMap(({ deliveries }) => deliveries),
      ...[...this.#running.values()].flatMap(({ item }) => item.deliveries),
    ]
  }

  /** Adds an event. Several for one resource that wait together become one item. */
  add(event: ReconcileEvent, delivery?: Delivery): void {
    const id = event.data.id
    const lane = this.#waiting.get(id) ?? { event, deliveries: [] }
    lane.event = newerEvent(lane.event, event)
    if (delivery !== undefined) lane.deliveries.push(delivery)
    this.#waiting.set(id, lane)
    this.#startNext()
  }

  /** Starts nothing more, and resolves when nothing runs. @returns the deliveries that were waiting */
  async close(): Promise<readonly Delivery[]> {
    this.#closed = true
    const left = [...this.#waiting.values()].flatMap(({ deliveries }) => deliveries)
    this.#waiting.clear()
    await Promise.all([...this.#running.values()].map(({ done }) => done))
    return left
  }

  #startNext(): void {
    for (const [id, lane] of this.#waiting) {
      if (this.#closed || this.#running.size >= this.#options.maxConcurrent()) return
      if (this.#running.has(id)) continue
      this.#waiting.delete(id)
      const item: WorkItem = lane
      const done = this.#options.work(item).then(() => {
        this.#running.delete(id)
        this.#startNext()
        this.#options.onCapacity()
      })
      this.#running.set(id, { item, done })
    }
  }
}

/** The one that speaks of the newer generation; of equals the one that came later. */
const newerEvent = (a: ReconcileEvent, b: ReconcileEvent): ReconcileEvent => {
  const generation = ({ data }: ReconcileEvent) => (typeof data.generation === 'number' ? data.generation : 0)
  return generation(b) >= generation(a) ? b : a
}
