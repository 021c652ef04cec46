/**
 * Follows one bucket: what is there, then every change. Each time it is followed anew it is read from the beginning, and what it
 * does not show any more is gone. So whatever happened between two watches is known in the end.
 */
import type { KV } from '@nats-io/kv'
import type { BucketSettings } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { NatsProblem } from '#lib/nats/problem.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { KeyUpdate } from '../state/key-update.ts'
import type { Incarnation } from './provision.ts'
import { StoreHistory, type StoreState } from './store-history.ts'

/** Is called for each change, in order. */
export interface BucketListener {
  /** The store was made anew, or went back: nothing that was known of it holds. */
  recreated(): void
  /** How far the replay is, now and then. */
  progress(replayed: number, total: number): void
  seen(key: KeyUpdate): void
  /** All that was there has been seen; where there are no such keys that is at once. */
  replayed(): void
}

/** So many keys of a replay are one step of its progress. */
const PROGRESS_EVERY_KEYS = 500
/** Milliseconds between looks at whether all of it was read. */
const END_CHECK_INTERVAL_MS = 1_000

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
  readonly #history: StoreHistory
  #hasGoneBack = false
  #incarnation: Incarnation | undefined

  constructor({ settings, keys, isSaidAgain = false, listener }: WatchedBucket, clock: Clock) {
    this.#name = settings.name
    this.#history = new StoreHistory({ expires: settings.ttl > 0, isSaidAgain })
    this.#keys = keys
    this.#listener = listener
    this.#clock = clock
  }

  /**
   * Until the watch ends, be it by the signal or because the connection broke.
   * @param newest The revision of what was written last among its keys; 0 when there are none.
   * @throws what NATS answers
   */
  async follow(kv: KV, incarnation: Incarnation, newest: () => Promise<number>, signal: AbortSignal): Promise<void> {
    // Before the watch: what comes later than this, comes by it.
    const before = (await kv.status()).streamInfo.state.last_seq
    const wasRead = this.#incarnation !== undefined
    const isSame = this.#history.begin(before) && !this.#hasGoneBack && this.#incarnation === incarnation
    if (wasRead && !isSame) {
      this.#known.clear()
      this.#listener.recreated()
    }
    this.#incarnation = incarnation
    this.#hasGoneBack = false
    const watch = await kv.watch({ key: this.#keys })
    const ending = new AbortController()
    const stop = () => watch.stop()
    signal.addEventListener('abort', stop, { once: true })
    const replay = new Replay(new Set(this.#known.keys()), (gone) => {
      // The last value of all has no later revision that its end could have.
      for (const key of gone)
        this.#notify({ key, bytes: undefined, revision: this.#known.get(key) === before ? 0 : before })
      this.#listener.replayed()
    })
    try {
      const reading = this.#read(watch, replay, signal).finally(() => ending.abort())
      await Promise.all([reading, this.#waitForEnd(replay, newest, ending.signal)])
    } finally {
      signal.removeEventListener('abort', stop)
      stop()
    }
  }

  /** @throws NatsProblem (BucketWentBack, BucketPurged) when the store lost something that the watch does not tell of */
  check(store: StoreState): void {
    const { highest } = this.#history
    let oldest: number | undefined
    for (const revision of this.#known.values()) if (oldest === undefined || revision < oldest) oldest = revision
    switch (this.#history.evaluate(store, oldest)) {
      case 'WentBack':
        throw this.#wentBack(highest, store.lastRevision)
      case 'Purged':
        throw new NatsProblem('BucketPurged', `values of the bucket ${this.#name} were purged: they are written again`)
      case 'Same':
    }
  }

  #wentBack(from: number, to: number): NatsProblem {
    this.#hasGoneBack = true
    const problem = `the bucket ${this.#name} went back from revision ${from} to ${to}, as one that was restored from a backup: what it lost is written again`
    return new NatsProblem('BucketWentBack', problem)
  }

  async #read(watch: Awaited<ReturnType<KV['watch']>>, replay: Replay, signal: AbortSignal): Promise<void> {
    for await (const entry of watch) {
      if (signal.aborted) return
      const { key, operation, value, revision, created, delta = 0 } = entry
      const known = this.#known.get(key) ?? 0
      if (revision < known) throw this.#wentBack(known, revision)
      this.#history.seen(revision)
      // A copy: the value is a part of a larger buffer of the network, which would stay as long as it does.
      this.#notify({ key, bytes: operation === 'PUT' ? value.slice() : undefined, revision, at: created })
      if (!replay.isOver && replay.count % PROGRESS_EVERY_KEYS === 0)
        this.#listener.progress(replay.count + 1, replay.count + 1 + delta)
      replay.seen(key, revision)
      if (entry.isUpdate || delta === 0) replay.finish()
    }
  }

  /** A watch of keys that are not there, or that expire while they are read, never says that it has shown all. */
  async #waitForEnd(replay: Replay, newest: () => Promise<number>, signal: AbortSignal): Promise<void> {
    while (!replay.isOver && !signal.aborted) {
      if ((await newest()) <= replay.revision) replay.finish()
      else await this.#clock.sleep(END_CHECK_INTERVAL_MS, signal)
    }
  }

  #notify(seen: KeyUpdate): void {
    if (seen.bytes === undefined) this.#known.delete(seen.key)
    else this.#known.set(seen.key, seen.revision)
    this.#listener.seen(seen)
  }
}

/** What was there when the bucket began to be read, until all of it has been seen. */
class Replay {
  readonly #unseen: Set<string>
  readonly #over: (unseen: Iterable<string>) => void
  isOver = false
  /** How many keys were seen. */
  count = 0
  /** Of the key that was seen last. */
  revision = 0

  /** @param known The keys of the time before. @param over Is told once which of them are not there any more. */
  constructor(known: Set<string>, over: (unseen: Iterable<string>) => void) {
    this.#unseen = known
    this.#over = over
  }

  seen(key: string, revision: number): void {
    this.#unseen.delete(key)
    this.count += 1
    this.revision = revision
  }

  finish(): void {
    if (this.isOver) return
    this.isOver = true
    this.#over(this.#unseen)
    this.#unseen.clear()
  }
}
