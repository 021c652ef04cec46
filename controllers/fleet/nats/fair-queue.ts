/**
 * Requests by the name of what asks, of each of which one waits and one runs at most: one that asks without end waits for its turn like
 * all others, and costs a look. NATS-13. Pure.
 */
export class FairQueue<Request> {
  readonly #most: number
  /** The longest waiting first. */
  readonly #waiting = new Map<string, Request>()
  readonly #running = new Set<string>()

  /** @param most So many may wait. */
  constructor(most: number) {
    this.#most = most
  }

  get waiting(): number {
    return this.#waiting.size
  }

  get running(): number {
    return this.#running.size
  }

  /** The newest takes the place of the one that waits, and its turn: what asks again has given the earlier one up. */
  offer(name: string, request: Request): void {
    if (this.#waiting.size < this.#most || this.#waiting.has(name)) this.#waiting.set(name, request)
  }

  /** Those whose turn it is, which run from now on. */
  take(count: number): readonly (readonly [name: string, request: Request])[] {
    const chosen: (readonly [string, Request])[] = []
    for (const [name, request] of this.#waiting) {
      if (chosen.length >= count) break
      if (!this.#running.has(name)) chosen.push([name, request])
    }
    for (const [name] of chosen) {
      this.#waiting.delete(name)
      this.#running.add(name)
    }
    return chosen
  }

  /** It runs no more. */
  done(name: string): void {
    this.#running.delete(name)
  }
}
