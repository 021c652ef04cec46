import { createEvents, type Events } from '../client/events.ts'
import { runWithLease } from '../client/lease.ts'
import { monotonic } from '../model/clock.ts'
import { toMilliseconds } from '../model/duration.ts'
import type { Limits, RetryPolicy } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import type { DaemonEnvironment } from './daemons.ts'
import type { ObjectState } from './object-state.ts'
import { recordOwnWrites } from './own-writes.ts'
import { retryLimits } from './retry-limits.ts'
import { sendPatch } from './send-patch.ts'
import type { OperatorSettings } from './settings.ts'
import { createStorage } from './storage.ts'

export interface EnvironmentOptions
  extends Pick<DaemonEnvironment<KubeObject>, 'definition' | 'api' | 'clock' | 'log' | 'random'> {
  readonly settings: OperatorSettings
  /** Of this process, for the leases of daemons and the reporter of events. */
  readonly identity: string
  /** False once the watch has shown that the object is gone: what has its name now is another object. */
  isPresent(state: ObjectState): boolean
  /** Reconciles the object with this key again. */
  wake(key: string): void
}

/** What one controller's handlers need, and what outlives them. */
export interface ControllerEnvironment {
  readonly env: DaemonEnvironment<KubeObject>
  /** Resolves when every daemon has ended. */
  daemonsEnded(): Promise<unknown>
  /** Sends the events that wait. */
  closeEvents(): Promise<void>
}

export const createEnvironment = (options: EnvironmentOptions): ControllerEnvironment => {
  const { definition, api, clock, log, random, settings, identity, isPresent, wake } = options
  const { name, resource, transform } = definition
  const consistencyTimeoutMs = toMilliseconds(settings.persistence.consistencyTimeout)
  const daemons = new Set<Promise<void>>()
  const limits = new Map<RetryPolicy, Limits>()
  /** Made for the first event: most controllers write none. */
  let events: Events | undefined

  return {
    env: {
      definition,
      api,
      clock,
      log,
      random,
      events(object) {
        events ??= createEvents({ api, clock, log, controller: `muster-${name}`, instance: identity })
        return events.about(object)
      },
      progress: createStorage(definition.progress, `${name}.progress`),
      handled: createStorage(definition.diffBase, `${name}.handled`),
      limits(policy) {
        const known = limits.get(policy) ?? retryLimits(policy, settings.execution)
        limits.set(policy, known)
        return known
      },
      async write(state, object, patch, over = api) {
        if (!isPresent(state)) return undefined
        const sent = await sendPatch(over, resource, object, patch, transform === undefined)
        recordOwnWrites(state, sent, monotonic(clock) + consistencyTimeoutMs)
        if (sent.gone) return undefined
        patch.sent()
        if (sent.object === undefined) return object
        return transform === undefined ? sent.object : transform(sent.object)
      },
      runWithLease: (lease, signal, work) =>
        runWithLease({ api, ...lease, identity, clock, log, signal, random }, work),
      wake(state) {
        if (isPresent(state)) wake(state.key)
      },
      track(daemon) {
        const tracked = daemon
          .catch((error: unknown) =>
            log.error('a daemon failed outside of its handler and is not started again', { err: error }),
          )
          .finally(() => daemons.delete(tracked))
        daemons.add(tracked)
      },
    },
    daemonsEnded: () => Promise.all(daemons),
    closeEvents: async () => events?.close(settings.execution.stopTimeout),
  }
}
