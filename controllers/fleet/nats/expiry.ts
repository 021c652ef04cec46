/**
 * When the keys of a bucket end that lives by being written again. NATS would tell of each by a marker, but a bucket that has them lets
 * each device, with one key that it may write, erase all others: NATS-12. So the operator reckons it, by the clock of the server, on which all
 * operators agree. FLEET-15. Pure.
 */

/** A key that was not written again in time. */
export interface ExpiredKey {
  readonly key: string
  /** When it expired, by the server's clock. */
  readonly at: Date
}

interface Written {
  readonly revision: number
  /** By the server's clock, in milliseconds. */
  readonly at: number
}

export class Expiry {
  readonly #ttl: number
  readonly #written = new Map<string, Written>()
  /** Old at the last look, when more was still to be read. */
  #suspected: ReadonlyMap<string, number> = new Map()
  /** Between the server's clock and ours, in milliseconds. */
  #offset = 0
  #newest = 0

  /** @param ttl Milliseconds. */
  constructor(ttl: number) {
    this.#ttl = ttl
  }

  /**
   * What time it is. What is from later was written before the clock was set back, and is as if written now.
   * @param server By the server's clock, since the epoch. @param monotonic By ours. Both in milliseconds.
   */
  synchronize(server: number, monotonic: number): void {
    this.#offset = server - monotonic
    for (const [key, { revision, at }] of this.#written)
      if (at > server) this.#written.set(key, { revision, at: server })
  }

  /** When a value of that time expires; undefined when that is still to come. */
  endOf(at: Date, monotonic: number): Date | undefined {
    const end = at.getTime() + this.#ttl
    return end <= monotonic + this.#offset ? new Date(end) : undefined
  }

  /** A message was read, be it a value or a deletion. */
  read(revision: number): void {
    this.#newest = Math.max(this.#newest, revision)
  }

  written(key: string, revision: number, at: Date): void {
    this.#written.set(key, { revision, at: at.getTime() })
  }

  gone(key: string): void {
    this.#written.delete(key)
  }

  /** The bucket is another one. */
  clear(): void {
    this.#written.clear()
    this.#newest = 0
  }

  /**
   * The keys that expired since the last look. Where the reading lags behind the server they may have been written again: then only
   * a second look is sure.
   * @param last The revision of the last write to the bucket.
   */
  take(last: number, monotonic: number): readonly ExpiredKey[] {
    const old = new Map<string, number>()
    const expired: ExpiredKey[] = []
    for (const [key, { revision, at }] of this.#written) {
      const end = this.endOf(new Date(at), monotonic)
      if (end === undefined) continue
      old.set(key, revision)
      if (this.#newest >= last || this.#suspected.get(key) === revision) expired.push({ key, at: end })
    }
    this.#suspected = old
    for (const { key } of expired) this.#written.delete(key)
    return expired
  }
}
