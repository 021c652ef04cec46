/**
 * The Devices that the leader has yet to reconcile: a limited number a tick, and thousands when it begins. What an agent reports
 * meanwhile, such as a changed label, comes before them, because it decides what the device runs. FLEET-55.
 */
export class DeviceQueue {
  readonly #maxPerTick: number
  readonly #urgent = new Set<string>()
  readonly #others = new Set<string>()

  /** @param most So many are looked at in one tick. */
  constructor(most: number) {
    this.#maxPerTick = most
  }

  /** Also what failed: it goes behind the others, so that it holds up no other. */
  add(name: string): void {
    if (!this.#urgent.has(name)) this.#others.add(name)
  }

  /** Devices whose agents reported something since the last tick. More than one tick can take are a replay: these wait with the others, so that they don't delay a later report. */
  addUrgent(names: ReadonlySet<string>): void {
    if (names.size > this.#maxPerTick) {
      for (const name of names) this.add(name)
      return
    }
    for (const name of names) {
      this.#others.delete(name)
      this.#urgent.add(name)
    }
  }

  delete(name: string): void {
    this.#urgent.delete(name)
    this.#others.delete(name)
  }

  /** Those of this tick, each kind in the order in which it came. Urgent ones take at most half of the room while others wait. */
  takeBatch(): readonly string[] {
    const room = this.#maxPerTick - Math.min(this.#others.size, Math.ceil(this.#maxPerTick / 2))
    const urgent = [...this.#urgent].slice(0, room)
    return [...urgent, ...[...this.#others].slice(0, this.#maxPerTick - urgent.length)]
  }
}
