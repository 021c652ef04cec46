/** The devices that have a heartbeat. */
export class Heartbeats {
  /**
   * By device the revision in the bucket, before which heartbeats are stale, and whether there is one now: see `offline`. One look-up
   * finds both: a look-up takes longer the more devices there are.
   */
  readonly #known = new Map<string, number>()

  /** @returns whether the device went online or offline by it */
  update(device: string, revision: number, isAlive: boolean): boolean {
    const known = this.#known.get(device) ?? offline(0)
    const wasAlive = known >= 0
    if (revision <= (wasAlive ? known : offline(known)) && revision !== 0) return false
    this.#known.set(device, isAlive ? revision : offline(revision))
    return wasAlive !== isAlive
  }

  isAlive(device: string): boolean {
    return (this.#known.get(device) ?? offline(0)) >= 0
  }

  /** The bucket was made anew. @returns the devices that had a heartbeat */
  clear(): readonly string[] {
    const devices = [...this.#known].flatMap(([device, known]) => (known >= 0 ? device : []))
    this.#known.clear()
    return devices
  }
}

/** A revision without a heartbeat: below zero, and the revision again when it is applied twice. */
const offline = (revision: number): number => -1 - revision
