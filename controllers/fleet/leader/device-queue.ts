/**
 * The Devices that the leader has yet to look at. It looks at so many a tick, and at thousands when it begins: what one agent says
 * meanwhile, such as a changed label, goes before them, because what the device runs depends on it.
 */
export class DueDevices {
  readonly #most: number
  readonly #news = new Set<string>()
  readonly #others = new Set<string>()

  /** @param most So many are looked at in one tick. */
  constructor(most: number) {
    this.#most = most
  }

  /** Also what failed: it goes behind the others, so that it holds up nobody. */
  add(name: string): void {
    if (!this.#news.has(name)) this.#others.add(name)
  }

  /** Agents said something since the last tick. More than fit into one is no news but a replay, which would hold up what comes next. */
  tell(names: ReadonlySet<string>): void {
    if (names.size > this.#most) {
      for (const name of names) this.add(name)
      return
    }
    for (const name of names) {
      this.#others.delete(name)
      this.#news.add(name)
    }
  }

  delete(name: string): void {
    this.#news.delete(name)
    this.#others.delete(name)
  }

  /** Those of this tick, each kind in the order in which it came. However much news there is, half of the room is for the others. */
  next(): readonly string[] {
    const room = this.#most - Math.min(this.#others.size, Math.ceil(this.#most / 2))
    const news = [...this.#news].slice(0, room)
    return [...news, ...[...this.#others].slice(0, this.#most - news.length)]
  }
}
