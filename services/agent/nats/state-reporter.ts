/** What the device says of itself: kept until NATS has it, and reported again when NATS may have lost it. */
import type { KV } from '@nats-io/kv'
import { deviceKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { type Info, infoCodec, type State, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { isFull } from '#lib/nats/limits.ts'
import { isStaleWrite, presentRevision } from '#lib/nats/stale-write.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { InfoStore } from './info-store.ts'

/** The buckets that a device writes to. */
export interface ReportBuckets {
  readonly state: KV
  readonly info: InfoStore
  readonly heartbeat: KV
}

interface ReportedState {
  readonly state: State
  readonly generation: number
}

interface Removal {
  readonly done: () => void
}

const RETRY_DELAY_MS = 2_000

/** Takes what is to be reported at any time; `deliver` brings it to NATS. */
export class StateReporter {
  readonly #device: string
  #info: Info
  readonly #states = new Map<string, ReportedState>()
  readonly #removals = new Map<string, Removal>()
  readonly #unsent = new Set<string>()
  /** Of the buckets: what was written last of each state. */
  readonly #revisions = new Map<string, number>()
  #infoRevision = 0
  /** How often the info was to be sent, and which of these times was the last that it was: another one may come on the way. */
  #infoAsked = 1
  #infoSent = 0
  /** Counts the looks at states: each one is at another key. */
  #checks = 0
  #wake: () => void = () => {}

  constructor(device: string, info: Info) {
    this.#device = device
    this.#info = info
  }

  get #isInfoSent(): boolean {
    return this.#infoSent === this.#infoAsked
  }

  /** The newest state of a key; one that only differs in its time is not written again. */
  report(key: string, state: State, generation: number): void {
    const before = this.#states.get(key)
    if (before !== undefined && before.generation === generation && isSame(before.state, state)) return
    this.#states.set(key, { state, generation })
    this.#unsent.add(key)
    this.#wake()
  }

  /** The device is another by it. */
  changeInfo(change: Partial<Info>): void {
    this.#info = { ...this.#info, ...change }
    this.#infoAsked += 1
    this.#wake()
  }

  /** Resolves when the store has no state of the key any more, or the signal aborts. */
  clear(key: string, signal: AbortSignal): Promise<void> {
    this.#states.delete(key)
    return new Promise((resolve) => {
      this.#removals.set(key, { done: resolve })
      this.#unsent.add(key)
      signal.addEventListener('abort', () => resolve(), { once: true })
      this.#wake()
    })
  }

  /** NATS may have lost everything, as when it was restarted. */
  resendAll(): void {
    for (const key of this.#states.keys()) this.#unsent.add(key)
    this.#infoAsked += 1
    this.#wake()
  }

  /**
   * Says everything again when a bucket has lost it, as one that was made anew or restored from a backup: no message tells a device.
   * Looks at the info and at one state, each time at another one. AGENT-25. @throws what NATS answers
   */
  async checkStored({ state, info }: ReportBuckets): Promise<void> {
    const sent = [...this.#states].filter(([key]) => !this.#unsent.has(key))
    const [key, reported] = sent[this.#checks++ % sent.length] ?? []
    const isLost =
      (this.#isInfoSent &&
        (await isOvertaken(info, deviceKey(this.#device), infoCodec.encode(this.#info, 0), this.#infoRevision))) ||
      (key !== undefined &&
        reported !== undefined &&
        (await isOvertaken(
          state,
          key,
          stateCodec.encode(reported.state, reported.generation),
          this.#revisions.get(key) ?? 0,
        )))
    if (isLost) this.resendAll()
  }

  /** Until the signal aborts. */
  async deliver(buckets: ReportBuckets, clock: Clock, log: Logger, signal: AbortSignal): Promise<void> {
    const awake = () => new Promise<void>((resolve) => (this.#wake = resolve))
    signal.addEventListener('abort', () => this.#wake(), { once: true })
    for (let failures = 0; !signal.aborted; ) {
      const changes = awake()
      try {
        await this.#send(buckets, signal)
        failures = 0
        if (this.#unsent.size === 0 && this.#isInfoSent) await changes
      } catch (error) {
        failures += 1
        if (failures === 1)
          log.warn('what the device says can’t be written: it is tried again', { problem: messageOf(error) })
        await clock.sleep(RETRY_DELAY_MS, signal)
      }
    }
  }

  async #send({ state, info }: ReportBuckets, signal: AbortSignal): Promise<void> {
    // A new key of a bucket that is full holds up none that is in it, and an info that can't be signed no state.
    const refusals: unknown[] = []
    const attempt = async (write: () => Promise<void>, mayFail: (error: unknown) => boolean): Promise<void> => {
      try {
        await write()
      } catch (error) {
        if (!mayFail(error)) throw error
        refusals.push(error)
      }
    }
    if (!this.#isInfoSent)
      await attempt(
        async () => {
          const asked = this.#infoAsked
          this.#infoRevision = await info.put(deviceKey(this.#device), infoCodec.encode(this.#info, 0))
          this.#infoSent = asked
        },
        () => true,
      )
    for (const key of this.#unsent) {
      if (signal.aborted) return
      await attempt(() => this.#sendState(state, key), isFull)
    }
    if (refusals.length > 0) throw refusals[0]
  }

  async #sendState(state: KV, key: string): Promise<void> {
    const reported = this.#states.get(key)
    const removal = this.#removals.get(key)
    if (reported !== undefined)
      this.#revisions.set(key, await state.put(key, stateCodec.encode(reported.state, reported.generation)))
    else if (removal !== undefined) await state.delete(key)
    if (this.#states.get(key) === reported) this.#unsent.delete(key)
    if (reported === undefined && removal !== undefined) {
      this.#removals.delete(key)
      this.#revisions.delete(key)
      removal.done()
    }
  }
}

/**
 * Whether the last value of the key is not the one that this device wrote. A device may not read, so it asks by a write that only a
 * key without a value takes: the refusal names the revision that the key has.
 */
const isOvertaken = async (
  bucket: Pick<InfoStore, 'put'>,
  key: string,
  bytes: Uint8Array,
  revision: number,
): Promise<boolean> => {
  try {
    await bucket.put(key, bytes, { previousSeq: 0 })
    return true
  } catch (error) {
    if (!isStaleWrite(error)) throw error
    const found = presentRevision(error)
    return found !== undefined && found !== revision
  }
}

const isSame = (a: State, b: State): boolean =>
  a.phase === b.phase && a.message === b.message && a.uid === b.uid && a.revision === b.revision && a.hold === b.hold
