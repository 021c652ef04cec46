/**
 * When everything has been read that a bucket had when its reading began, overwritten since or not. Entries come in the order of their
 * revisions, and one that is overwritten before it comes, comes last. So how many there were says nothing: others that are overwritten
 * may come in its place. Nor is it enough that a server has nothing more to send, since it may be one that lags behind: FLEET-102. Pure.
 */
export class ReadingEnd {
  /** Of the entry that was read last; 0 before the first one. */
  #read: number
  /** Of the last one after which its server had nothing more. */
  #complete = 0
  #target = Number.POSITIVE_INFINITY

  /** @param read Of the entry after which the reading goes on. */
  constructor(read = 0) {
    this.#read = read
  }

  get revision(): number {
    return this.#read
  }

  get isReached(): boolean {
    return this.#complete >= this.#target
  }

  /** @param pending How many more its server had to send. */
  read(revision: number, pending: number): void {
    this.#read = revision
    if (pending === 0) this.#complete = revision
  }

  /**
   * The server that leads the bucket has answered, after the reading had begun.
   * @param newest The revision of what is written last; 0 when there is nothing. @param read What had been read when it was asked: if that is
   * all there is, nothing else will come.
   */
  asked(newest: number, read: number): void {
    this.#target = Math.min(this.#target, newest)
    if (newest <= read) this.#complete = Math.max(this.#complete, read)
  }
}
