/** What one caller may have of a bound, unless it is a single piece: others find room beside one that gives nothing back. */
const SHARE_OF_CALLER = 1 / 4

/** Bytes in memory that have one bound for all callers together: what of them is in use, and whose. */
export class SharedBytes {
  readonly #size: number
  readonly #inUseBy = new Map<string, number>()
  #inUse = 0

  constructor(size: number) {
    this.#size = size
  }

  get inUse(): number {
    return this.#inUse
  }

  /**
   * Within the bound; what is larger than all of it gets all of it.
   * @param leaving bytes in use that count no more
   */
  hasRoom(bytes: number, leaving = 0): boolean {
    const inUse = this.#inUse - leaving
    return inUse === 0 || inUse + bytes <= this.#size
  }

  /** Within what the caller may have. */
  hasShare(caller: string, bytes: number): boolean {
    const own = this.#inUseBy.get(caller) ?? 0
    return own === 0 || own + bytes <= this.#size * SHARE_OF_CALLER
  }

  /** @param bytes less than none for what is given back */
  add(caller: string, bytes: number): void {
    this.#inUse += bytes
    const own = (this.#inUseBy.get(caller) ?? 0) + bytes
    if (own > 0) this.#inUseBy.set(caller, own)
    else this.#inUseBy.delete(caller)
  }
}
