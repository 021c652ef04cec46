interface Line {
  running: number
  /** The first that came stands first. */
  readonly waiting: Set<() => void>
}

/** Lets so much work for each server go on at a time; more waits for its turn in the order in which it came. RUNTIME-87. */
export class Turns {
  readonly #most: number
  readonly #lines = new Map<string, Line>()

  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  /**
   * @param start called when it is its turn, maybe at once; it does not throw
   * @returns to be called when the work has ended, or need not begin any more; without effect the second time
   */
  take(server: string, start: () => void): () => void {
    const line = this.#lines.get(server) ?? { running: 0, waiting: new Set() }
    this.#lines.set(server, line)
    const begin = (): void => {
      line.waiting.delete(begin)
      line.running++
      leave = () => {
        line.running--
        this.#advance(server, line)
      }
      start()
    }
    let leave = (): void => {
      line.waiting.delete(begin)
      this.#advance(server, line)
    }
    if (line.running < this.#most) begin()
    else line.waiting.add(begin)
    return () => {
      const once = leave
      leave = () => undefined
      once()
    }
  }

  #advance(server: string, line: Line): void {
    const [next] = line.waiting
    if (next !== undefined && line.running < this.#most) next()
    else if (line.running === 0 && line.waiting.size === 0) this.#lines.delete(server)
  }
}
