/** The devices that have a heartbeat. */
export class Heartbeats {
  readonly #alive = new Set<string>()
  /** Of the bucket; older heartbeats are stale. */
  readonly #revisions = new Map<string, number>()

  /** @returns whether the device went online or offline by it */
  update(device: string, revision: number, isAlive: boolean): boolean {
    if (revision <= (this.#revisions.get(device) ?? 0) && revision !== 0) return false
    this.#revisions.set(device, revision)
    if (this.#alive.has(device) === isAlive) return false
    if (isAlive) this.#alive.add(device)
    else this.#alive.delete(device)
    return true
  }

  isAlive(device: string): boolean {
    return this.#alive.has(device)
  }

  /** The bucket was made anew. @returns the devices that had a heartbeat */
  clear(): readonly string[] {
    const devices = [...this.#alive]
    this.#alive.clear()
    this.#revisions.clear()
    return devices
  }
}
