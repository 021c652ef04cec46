import { AbortScope } from '#lib/abort/abort-scope.ts'
import type { Api } from '../client/api.ts'
import { type Clock, monotonic } from '../model/clock.ts'
import type { Logger } from '../model/log.ts'
import { asError, backoffDelay, type Limits } from '../model/outcome.ts'
import { type KubeObject, keyOf, type Resource } from '../model/resource.ts'
import type { ObjectListener } from './context.ts'
import type { SourceHandler } from './definition.ts'

export interface SourceEnvironment {
  readonly api: Api
  readonly clock: Clock
  readonly log: Logger
  readonly random: () => number
  readonly backoff: Limits['backoff']
  /** The object with this key is concerned. */
  wake(key: string): void
  /** Until the signal aborts. @throws TypeError for a kind that is not watched */
  follow<T extends KubeObject>(resource: Resource<T>, listener: ObjectListener<T>, signal: AbortSignal): void
}

/** After so long without an error the next one is the first again, in milliseconds. */
const HEALTHY_AFTER_MS = 60_000

/** Runs a handler until the signal aborts, again and again when it ends by itself. Never throws. RUNTIME-9. */
export const runSource = async (
  handler: SourceHandler,
  { api, clock, log: parent, random, backoff, ...environment }: SourceEnvironment,
  signal: AbortSignal,
): Promise<void> => {
  const log = parent.child({ handler: handler.id })
  let failures = 0
  while (!signal.aborted) {
    const began = monotonic(clock)
    try {
      // What one run of it follows ends with that run.
      using following = new AbortScope(signal)
      await handler.run({
        api: api.withLimits({ signal }),
        clock,
        log,
        signal,
        wake: (object) => environment.wake(keyFor(object)),
        follow: (resource, listener) => environment.follow(resource, listener, following.signal),
      })
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
