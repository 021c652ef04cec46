import type { SharedBytes } from './shared-bytes.ts'

/** What waits for room. */
export interface Turn {
  readonly bytes: number
  /** Whose share it counts for. */
  account: string
  readonly go: () => void
}

/** Turns that wait for room, by account: accounts take turns, and each is served in its own order. */
export class Turns {
  /** The next one first. */
  readonly #waiting = new Map<string, Set<Turn>>()

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  add(turn: Turn): void {
    this.#waiting.set(turn.account, (this.#waiting.get(turn.account) ?? new Set()).add(turn))
  }

  remove(turn: Turn): void {
    const turns = this.#waiting.get(turn.account)
    turns?.delete(turn)
    if (turns?.size === 0) this.#waiting.delete(turn.account)
  }

  /** The first of the first account that does not have its share. */
  next(shared: SharedBytes): Turn | undefined {
    for (const [account, [next]] of this.#waiting)
      if (next !== undefined && shared.hasShare(account, next.bytes)) return next
    return undefined
  }

  /** It goes on, and its account comes last from now on. */
  serve(turn: Turn): void {
    this.remove(turn)
    const others = this.#waiting.get(turn.account)
    if (others === undefined) return
    this.#waiting.delete(turn.account)
    this.#waiting.set(turn.account, others)
  }

  /** What waits on one account waits on the other from now on. */
  move(from: string, to: string): void {
    const turns = this.#waiting.get(from) ?? []
    this.#waiting.delete(from)
    for (const turn of turns) {
      turn.account = to
      this.add(turn)
    }
  }
}
