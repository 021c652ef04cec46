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

  /**
   * As it was read, or as the server says. What is told again changes nothing, as `synchronize` may have its time; nor does what is read
   * late, when the server was asked meanwhile.
   */
  written(key: string, revision: number, at: Date): void {
    const known = this.#written.get(key)?.revision ?? 0
    if (known < revision) this.#written.set(key, { revision, at: at.getTime() })
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
   * Whether everything was read that had been written until a look. Where it was not, a key that is old may have been written again: that only
   * the server knows.
   * @param last The revision of the last write to the bucket.
   */
  hasRead(last: number): boolean {
    return this.#newest >= last
  }

  /** The keys whose time has passed, as far as is known. */
  old(monotonic: number): readonly string[] {
    return [...this.#written].flatMap(([key, { at }]) =>
      this.endOf(new Date(at), monotonic) === undefined ? [] : [key],
    )
  }

  /** Ends a key if it is old yet; then it is known no more. */
  take(key: string, monotonic: number): ExpiredKey | undefined {
    const written = this.#written.get(key)
    const at = written && this.endOf(new Date(written.at), monotonic)
    if (at === undefined) return undefined
    this.#written.delete(key)
    return { key, at }
  }
}
