/**
 * Follows one bucket: what is there, then every change. Each time it is followed anew it is read from the beginning, and what it
 * does not show any more is gone. So whatever happened while nobody watched is known in the end.
 */
import type { KV } from '@nats-io/kv'
import type { Clock } from '#operator/model/clock.ts'
import type { KeyUpdate } from '../state/key-update.ts'
import type { Incarnation } from './provision.ts'

/** Who is told; called in order. */
export interface BucketListener {
  /** The store was made anew: nothing that was known of it holds. */
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

export class BucketWatch {
  readonly #keys: string
  readonly #listener: BucketListener
  readonly #clock: Clock
  readonly #known = new Set<string>()
  #incarnation: Incarnation | undefined

  /** @param keys Which keys: a pattern of subjects, such as `>`. */
  constructor(keys: string, listener: BucketListener, clock: Clock) {
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
    if (this.#incarnation !== undefined && this.#incarnation !== incarnation) {
      this.#known.clear()
      this.#listener.recreated()
    }
    this.#incarnation = incarnation
    // Before the watch: what comes later than this, comes by it.
    const before = (await kv.status()).streamInfo.state.last_seq
    const watch = await kv.watch({ key: this.#keys })
    const ending = new AbortController()
    const stop = () => watch.stop()
    signal.addEventListener('abort', stop, { once: true })
    const replay = new Replay(new Set(this.#known), (gone) => {
      for (const key of gone) this.#notify({ key, bytes: undefined, revision: before })
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

  async #read(watch: Awaited<ReturnType<KV['watch']>>, replay: Replay, signal: AbortSignal): Promise<void> {
    for await (const entry of watch) {
      if (signal.aborted) return
      const { key, operation, value, revision, created, delta = 0 } = entry
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
    else this.#known.add(seen.key)
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
