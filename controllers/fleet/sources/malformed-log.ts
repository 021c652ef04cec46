/** Tells of malformed entries. A device may write them without end, so of each one a minute is told, with how many were not. FLEET-101. */
import type { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Metrics } from '../metrics.ts'
import type { NatsFeed } from '../state/sync-state.ts'

const WINDOW_MS = 60_000
/** Devices of which one entry each is told within that time. */
const MAX_DEVICES = 100
/** Characters of a key, and of what is wrong; a device may have a key of some thousand. */
const MAX_KEY = 200
const MAX_PROBLEM = 300

export class MalformedLog {
  readonly #bucket: NatsFeed
  readonly #metrics: Pick<Metrics, 'malformed'>
  readonly #clock: Clock
  readonly #log: Logger
  readonly #told = new Set<string>()
  #untold = 0
  #began = Number.NEGATIVE_INFINITY

  constructor(bucket: NatsFeed, metrics: Pick<Metrics, 'malformed'>, clock: Clock, log: Logger) {
    this.#bucket = bucket
    this.#metrics = metrics
    this.#clock = clock
    this.#log = log
  }

  tell(key: string, { reason, message }: MalformedEntry): void {
    this.#metrics.malformed.inc({ bucket: this.#bucket, reason })
    const now = monotonic(this.#clock)
    if (now - this.#began >= WINDOW_MS) {
      this.#told.clear()
      this.#began = now
    }
    const [device = ''] = key.split('.', 1)
    if (this.#told.has(device) || this.#told.size >= MAX_DEVICES) {
      this.#untold += 1
      return
    }
    this.#told.add(device)
    this.#log.warn('fleet: an entry is malformed, it is skipped until it changes', {
      bucket: this.#bucket,
      key: key.slice(0, MAX_KEY),
      problem: message.slice(0, MAX_PROBLEM),
      ...(this.#untold > 0 && { untold: this.#untold }),
    })
    this.#untold = 0
  }
}
