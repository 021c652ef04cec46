/**
 * Follows one bucket: what is there, then every change. When it is followed anew it is read from the beginning, and what it does not
 * show any more is gone. So whatever happened between two watches is known in the end. A reading that was cut off before all buckets
 * were read goes on where it ended: else a machine that is too slow to read all of them in one go would never come to an end.
 * FLEET-78.
 */
import type { ConsumerMessages, JetStreamManager } from '@nats-io/jetstream'
import type { BucketSettings } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { listKeys, type NewestEntry, newestEntry, openEntries, toEntry } from '#lib/nats/bucket-entries.ts'
import type { Connected } from '#lib/nats/connection.ts'
import { streamOf } from '#lib/nats/kv-subjects.ts'
import { NatsProblem } from '#lib/nats/problem.ts'
import { ReadingEnd } from '#lib/nats/reading-end.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { type KeyUpdate, updateOf } from '../state/key-update.ts'
import { Expiry } from './expiry.ts'
import { type BucketLook, type Incarnation, storeStateOf, timeOf } from './provision.ts'
import { StoreHistory } from './store-history.ts'

/** Is called for each change, in order. */
export interface BucketListener {
  /** The store was made anew, or went back, as the cause says: nothing that was known of it holds. */
  recreated(cause: string): void
  /** How far the replay is, now and then. */
  progress(replayed: number, total: number): void
  seen(key: KeyUpdate): void
  /** All that was there has been seen; where there are no such keys that is at once. @param entries How many it took. */
  replayed(entries: number): void
}

/** So many keys of a replay are one step of its progress. */
const PROGRESS_EVERY_KEYS = 500
/** Milliseconds between looks at whether all of it was read. */
const END_CHECK_INTERVAL_MS = 1_000
/** Keys of which the server is asked at once. */
const ASKED_AT_ONCE = 64

export interface WatchedBucket {
  readonly settings: BucketSettings
  /** Which keys: a pattern of subjects, such as `>`. */
  readonly keys: string
  /** What is gone from it without a deletion is said again by devices, and what was known of it stays. FLEET-64. */
  readonly isSaidAgain?: boolean
  readonly listener: BucketListener
}

export class BucketWatch {
  readonly #name: string
  readonly #keys: string
  readonly #listener: BucketListener
  readonly #clock: Clock
  /** The keys that have a value, with its revision. */
  readonly #known = new Map<string, number>()
  /** What is gone from it without a deletion neither ends by itself nor is said again. */
  readonly #noticesPurges: boolean
  readonly #history: StoreHistory
  readonly #expiry: Expiry | undefined
  #hasGoneBack = false
  #incarnation: Incarnation | undefined
  #replay: Replay | undefined

  constructor({ settings, keys, isSaidAgain = false, listener }: WatchedBucket, clock: Clock) {
    this.#name = settings.name
    this.#noticesPurges = settings.ttl === 0 && !isSaidAgain
    this.#history = new StoreHistory({ expires: settings.ttl > 0, isSaidAgain })
    this.#expiry = settings.ttl > 0 ? new Expiry(settings.ttl) : undefined
    this.#keys = keys
    this.#listener = listener
    this.#clock = clock
  }

  /** All that was there when it was followed last has been seen. */
  get isReplayed(): boolean {
    return this.#replay?.isOver ?? false
  }

  /** The next reading is from the beginning. */
  readAnew(): void {
    this.#replay = undefined
  }

  /** Until the watch ends, be it by the signal or because the connection broke. @throws what NATS answers */
  async follow({ connection, manager }: Connected, incarnation: Incarnation, signal: AbortSignal): Promise<void> {
    // Before the watch: what comes later than this, comes by it.
    const info = await manager.streams.info(streamOf(this.#name))
    const store = storeStateOf(info)
    this.#expiry?.synchronize(timeOf(info), monotonic(this.#clock))
    const wasRead = this.#incarnation !== undefined
    const { highest } = this.#history
    const isSame = this.#history.begin(store) && !this.#hasGoneBack && this.#incarnation === incarnation
    if (wasRead && !isSame) {
      this.#known.clear()
      this.#expiry?.clear()
      const isOther = this.#incarnation !== incarnation
      const what = isOther ? 'was made anew' : `went back from revision ${highest} to ${store.lastRevision}`
      this.#listener.recreated(`the bucket ${this.#name} ${what}`)
    }
    this.#incarnation = incarnation
    this.#hasGoneBack = false
    const before = isSame ? this.#replay : undefined
    const replay = new Replay(before === undefined ? [...this.#known.keys()] : await this.#purged(manager), before)
    this.#replay = replay
    const { revision } = replay.reading
    const messages = await openEntries(connection, this.#name, this.#keys, revision > 0 ? revision + 1 : undefined)
    const ending = new AbortController()
    const stop = () => messages.stop()
    signal.addEventListener('abort', stop, { once: true })
    const finish = () => this.#finish(replay, store.lastRevision)
    const newest = async () => (await newestEntry(manager, this.#name, this.#keys))?.revision ?? 0
    try {
      const reading = this.#read(messages, replay, finish, signal).finally(() => ending.abort())
      await Promise.all([reading, this.#waitForEnd(replay, newest, finish, ending.signal)])
    } finally {
      signal.removeEventListener('abort', stop)
      stop()
    }
  }

  /** What had been read and is there no more, without a deletion that would be read. Other buckets need none of it: FLEET-64. */
  async #purged(manager: JetStreamManager): Promise<readonly string[]> {
    if (!this.#noticesPurges) return []
    const there = new Set(await listKeys(manager, this.#name, this.#keys))
    return [...this.#known.keys()].filter((key) => !there.has(key))
  }

  /**
   * A look at its store: tells of keys that expired.
   * @param look Asks the server. What the watch shows until that is answered may be newer than the answer. FLEET-63.
   * @param newest Asks it what was written last under a key.
   * @throws NatsProblem (BucketWentBack, BucketPurged) when the store lost something that the watch does not tell of, and what `look` and
   * `newest` throw
   */
  async check(
    look: () => Promise<Pick<BucketLook, 'store' | 'time'>>,
    newest: (key: string) => Promise<NewestEntry | undefined>,
  ): Promise<void> {
    const asked = this.#history.highest
    const { store, time } = await look()
    if (this.#expiry !== undefined && this.isReplayed)
      await this.#expire(this.#expiry, store.lastRevision, time, newest)
    switch (this.#history.evaluate(store, asked, this.#oldest())) {
      case 'WentBack':
        throw this.#wentBack(asked, store.lastRevision)
      case 'Purged':
        throw new NatsProblem('BucketPurged', `values of the bucket ${this.#name} were purged: they are written again`)
      case 'Same':
    }
  }

  /** Tells of the keys that were old at the time of a look. Where the reading is behind, the server is asked whether they are. FLEET-15. */
  async #expire(
    expiry: Expiry,
    last: number,
    time: number,
    newest: (key: string) => Promise<NewestEntry | undefined>,
  ): Promise<void> {
    const now = monotonic(this.#clock)
    expiry.synchronize(time, now)
    const old = expiry.old(now)
    if (!expiry.hasRead(last))
      for (let from = 0; from < old.length; from += ASKED_AT_ONCE)
        await Promise.all(
          old.slice(from, from + ASKED_AT_ONCE).map(async (key) => {
            const found = await newest(key)
            if (found?.kind === 'Value' || found?.kind === 'Unreadable') expiry.written(key, found.revision, found.at)
          }),
        )
    for (const each of old) {
      const expired = expiry.take(each, now)
      if (expired !== undefined) this.#notify({ ...expired, bytes: undefined, revision: 0 })
    }
  }

  /** The lowest revision of the values that are known. */
  #oldest(): number | undefined {
    let oldest: number | undefined
    for (const revision of this.#known.values()) if (oldest === undefined || revision < oldest) oldest = revision
    return oldest
  }

  #wentBack(from: number, to: number): NatsProblem {
    this.#hasGoneBack = true
    const problem = `the bucket ${this.#name} went back from revision ${from} to ${to}, as one that was restored from a backup: what it lost is written again`
    return new NatsProblem('BucketWentBack', problem)
  }

  async #read(messages: ConsumerMessages, replay: Replay, finish: () => void, signal: AbortSignal): Promise<void> {
    for await (const message of messages) {
      if (signal.aborted) return
      const entry = toEntry(this.#name, message)
      if (entry === undefined) continue
      const { key, revision, pending } = entry
      const known = this.#known.get(key) ?? 0
      if (revision < known) throw this.#wentBack(known, revision)
      this.#history.seen(revision)
      this.#expiry?.read(revision)
      this.#notify(this.#unlessExpired(updateOf(entry)))
      if (!replay.isOver && replay.count % PROGRESS_EVERY_KEYS === 0)
        this.#listener.progress(replay.count + 1, replay.count + 1 + pending)
      replay.seen(key, revision, pending)
      if (replay.reading.isReached) finish()
    }
  }

  /** @param newest The revision of what was written last among its keys; 0 when there are none. */
  async #waitForEnd(
    { reading }: Replay,
    newest: () => Promise<number>,
    finish: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    while (!reading.isReached && !signal.aborted) {
      const { revision } = reading
      reading.asked(await newest(), revision)
      if (!reading.isReached) await this.#clock.sleep(END_CHECK_INTERVAL_MS, signal)
    }
    if (reading.isReached) finish()
  }

  /** @param last The last revision of all when the watch began. */
  #finish(replay: Replay, last: number): void {
    if (replay.isOver) return
    // The last value of all has no later revision that its end could have.
    for (const key of replay.end())
      this.#notify({ key, bytes: undefined, revision: this.#known.get(key) === last ? 0 : last })
    this.#listener.replayed(replay.count)
  }

  /**
   * A message may have been written to outlive its bucket. That a key which lives has ended, looks alone tell: where the reading is behind,
   * what is old may have been written again.
   */
  #unlessExpired(seen: KeyUpdate): KeyUpdate {
    if (seen.at === undefined || this.#known.has(seen.key)) return seen
    const end = this.#expiry?.endOf(seen.at, monotonic(this.#clock))
    return end === undefined ? seen : { key: seen.key, bytes: undefined, revision: seen.revision, at: end }
  }

  #notify(seen: KeyUpdate): void {
    const { key, bytes, revision, at } = seen
    if (bytes === undefined) {
      this.#known.delete(key)
      this.#expiry?.gone(key)
    } else {
      this.#known.set(key, revision)
      if (at !== undefined) this.#expiry?.written(key, revision, at)
    }
    this.#listener.seen(seen)
  }
}

/** What was there when the bucket began to be read, until all of it has been seen. */
class Replay {
  readonly #unseen: Set<string>
  isOver = false
  /** How many entries were seen. */
  count: number
  readonly reading: ReadingEnd

  /** @param unseen Keys that may be gone. @param before The reading that this one goes on with. */
  constructor(unseen: readonly string[], before: Replay | undefined) {
    this.#unseen = new Set([...(before === undefined ? [] : before.#unseen), ...unseen])
    this.count = before?.count ?? 0
    this.reading = new ReadingEnd(before?.reading.revision)
  }

  seen(key: string, revision: number, pending: number): void {
    this.#unseen.delete(key)
    this.count += 1
    this.reading.read(revision, pending)
  }

  /** @returns the keys that are not there any more */
  end(): readonly string[] {
    this.isOver = true
    const gone = [...this.#unseen]
    this.#unseen.clear()
    return gone
  }
}
