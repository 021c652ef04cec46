import type { Api } from '../client/api.ts'
import { type Clock, monotonic } from '../model/clock.ts'
import type { Logger } from '../model/log.ts'
import { asError, backoffDelay, type Limits } from '../model/outcome.ts'
import { keyOf } from '../model/resource.ts'
import type { SourceHandler } from './definition.ts'

export interface SourceEnvironment {
  readonly api: Api
  readonly clock: Clock
  readonly log: Logger
  readonly random: () => number
  readonly backoff: Limits['backoff']
  /** The object with this key is concerned. */
  wake(key: string): void
}

/** After so long without an error the next one is the first again, in milliseconds. */
const HEALTHY_AFTER_MS = 60_000

/** Runs a handler until the signal aborts, again and again when it ends by itself. Never throws. RUNTIME-9. */
export const runSource = async (
  handler: SourceHandler,
  { api, clock, log: parent, random, backoff, wake }: SourceEnvironment,
  signal: AbortSignal,
): Promise<void> => {
  const log = parent.child({ handler: handler.id })
  let failures = 0
  while (!signal.aborted) {
    const began = monotonic(clock)
    try {
      await handler.run({ api: api.withLimits({ signal }), clock, log, signal, wake: (object) => wake(keyFor(object)) })
    } catch (thrown) {
      if (signal.aborted) return
      const error = asError(thrown)
      log.error(`source failed, restarting: ${error.message}`, { err: error })
    }
    failures = monotonic(clock) - began > HEALTHY_AFTER_MS ? 1 : failures + 1
    await clock.sleep(backoffDelay(backoff, failures, random()), signal)
  }
}

const keyFor = ({ name, namespace }: { readonly name: string; readonly namespace?: string | undefined }): string =>
  keyOf(namespace === undefined ? { name } : { name, namespace })
