/** Keeps the status of one AdapterTask as it should be. What it says: status.ts. */
import type { AdapterTask, AdapterTaskStatus } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { messageOf } from '#operator/client/errors.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { monotonic } from '#operator/model/clock.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import type { WakeSignal } from '#operator/model/wake-signal.ts'
import { buildStatus, type StatusInput } from '../status.ts'

/** Milliseconds. A deletion gets stuck by time alone, so the status is looked at without news too. */
const MIN_WRITE_INTERVAL_MS = 1_000
const WRITE_RETRY_MS = 5_000
const REFRESH_INTERVAL_MS = 60_000

export class StatusWriter {
  readonly #context: DaemonContext<AdapterTask>
  readonly #input: () => StatusInput
  #written: DeepPartial<AdapterTaskStatus> | undefined

  constructor(context: DaemonContext<AdapterTask>, situation: () => StatusInput) {
    this.#context = context
    this.#input = situation
  }

  /** Writes the status when there is news of it: at once, but at most once a second, until the signal aborts. */
  async run(news: WakeSignal, signal: AbortSignal): Promise<void> {
    const { clock } = this.#context
    let notBefore = Number.NEGATIVE_INFINITY
    while (!signal.aborted) {
      const rest = notBefore - monotonic(clock)
      if (rest > 0) {
        await clock.sleep(rest, signal)
        continue
      }
      const written = await this.write()
      notBefore = monotonic(clock) + (written ? MIN_WRITE_INTERVAL_MS : WRITE_RETRY_MS)
      if (written) await news.wait(REFRESH_INTERVAL_MS, signal)
    }
  }

  /** @returns whether the status is as it should be */
  async write(): Promise<boolean> {
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
      log.warn('the status could not be written', { problem: messageOf(error) })
      return false
    }
  }
}
