/** Writes the status of one AdapterTask. What it contains: status.ts. */
import type { AdapterTask, AdapterTaskStatus } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { monotonic } from '#operator/model/clock.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import type { WakeSignal } from '#operator/model/wake-signal.ts'
import { buildStatus, type StatusInput } from '../status.ts'

const MIN_WRITE_INTERVAL_MS = 1_000
const WRITE_RETRY_MS = 5_000
/** A deletion gets stuck by time alone, so the status is computed again without a change too. */
const REFRESH_INTERVAL_MS = 60_000

export class StatusWriter {
  readonly #context: DaemonContext<AdapterTask>
  readonly #input: () => StatusInput
  #written: DeepPartial<AdapterTaskStatus> | undefined
  /** One write after the other: each is compared with what the one before wrote. */
  #last: Promise<boolean> = Promise.resolve(true)

  constructor(context: DaemonContext<AdapterTask>, input: () => StatusInput) {
    this.#context = context
    this.#input = input
  }

  /** Writes the status when it has changed: at once, but at most once a second, until the signal aborts. */
  async run(changed: WakeSignal, signal: AbortSignal): Promise<void> {
    const { clock } = this.#context
    let notBefore = Number.NEGATIVE_INFINITY
    while (!signal.aborted) {
      const waitMs = notBefore - monotonic(clock)
      if (waitMs > 0) {
        await clock.sleep(waitMs, signal)
        continue
      }
      const written = await this.write()
      notBefore = monotonic(clock) + (written ? MIN_WRITE_INTERVAL_MS : WRITE_RETRY_MS)
      if (written) await changed.wait(REFRESH_INTERVAL_MS, signal)
    }
  }

  /** @returns whether the status is as it should be */
  write(): Promise<boolean> {
    this.#last = this.#last.then(() => this.#writeOnce())
    return this.#last
  }

  async #writeOnce(): Promise<boolean> {
    const { status, clock, patch, log } = this.#context
    const before = (this.#written ?? status)?.conditions ?? undefined
    const next = buildStatus(this.#input(), before, clock.now())
    if (JSON.stringify(next) === JSON.stringify(this.#written)) return true
    patch.status(next)
    try {
      await this.#context.send()
      this.#written = next
      return true
    } catch (error) {
      log.warn('adapter: the status could not be written, retrying', { problem: messageOf(error) })
      return false
    }
  }
}
