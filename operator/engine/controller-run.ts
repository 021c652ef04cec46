import { setTimeout as realDelay } from 'node:timers/promises'
import type { Api } from '../client/api.ts'
import { createEvents, type Events } from '../client/events.ts'
import { runWithLease } from '../client/lease.ts'
import { type Clock, monotonic } from '../model/clock.ts'
import { toMilliseconds } from '../model/duration.ts'
import type { Logger } from '../model/log.ts'
import type { Limits, RetryPolicy } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import { isAtLeastAsNew } from '../model/resource-version.ts'
import type { DaemonEnvironment } from './daemons.ts'
import type { Definition, Watched } from './definition.ts'
import type { Informer } from './informers.ts'
import { createKeyedQueue, type QueueMetrics } from './keyed-queue.ts'
import { createObjectTracker } from './object-tracker.ts'
import { finalizeDeleted, reconcileObject } from './reconcile-object.ts'
import { retryLimits } from './retry-limits.ts'
import { write } from './send-patch.ts'
import type { OperatorSettings } from './settings.ts'
import { runSource } from './source.ts'
import { createStorage } from './storage.ts'

/** What is counted about a controller; the names are controller-runtime's. */
export interface RunMetrics {
  readonly queue: QueueMetrics
  reconciled(result: 'success' | 'error' | 'requeue' | 'requeue_after', seconds: number): void
  activeWorkers(count: number): void
  concurrency(limit: number): void
}

export interface RunOptions {
  readonly definition: Definition
  /** Of the controller's kind, one a namespace or one for all; filled. */
  readonly sources: readonly Informer[]
  /** Of the kinds that wake this one; filled. */
  readonly watched: readonly { readonly watched: Watched; readonly sources: readonly Informer[] }[]
  readonly api: Api
  readonly clock: Clock
  readonly log: Logger
  readonly random: () => number
  readonly settings: OperatorSettings
  readonly metrics?: RunMetrics | undefined
  /** Of this process, for the leases of daemons and the reporter of events. */
  readonly identity: string
}

/** One controller at work. */
export interface Run {
  /** Ends handlers and daemons by their signals. Resolves when all have ended, or were given up after `stopTimeout`. */
  stop(reason: string): Promise<void>
}

/** Looks after all objects of a controller, until it is stopped. */
export const startRun = (options: RunOptions): Run => {
  const { definition, sources, watched, clock, random, settings, metrics } = options
  const log = options.log.child({ controller: definition.name })
  const { resource } = definition
  const consistencyTimeout = toMilliseconds(settings.persistence.consistencyTimeout)
  const abandoned = new AbortController()
  const api = options.api.withLimits({ signal: abandoned.signal })
  const concurrency = definition.concurrency ?? settings.queueing.concurrency
  metrics?.concurrency(concurrency)

  const daemons = new Set<Promise<void>>()
  const limits = new Map<RetryPolicy, Limits>()
  /** Made when something is said with an event. */
  let events: Events | undefined

  const env: DaemonEnvironment<KubeObject> = {
    definition,
    api,
    clock,
    log,
    random,
    events(object) {
      const reporter = { controller: `muster-${definition.name}`, instance: options.identity }
      events ??= createEvents({ api, clock, log, ...reporter })
      return events.about(object)
    },
    progress: createStorage(definition.progress, `${definition.name}.progress`),
    handled: createStorage(definition.diffBase, `${definition.name}.handled`),
    limits(policy) {
      const known = limits.get(policy) ?? retryLimits(policy, settings.execution)
      limits.set(policy, known)
      return known
    },
    async write(state, object, patch) {
      // Gone, as the watch has told: what has its name now is another object.
      if (tracker.get(state.key) !== state) return undefined
      const written = await write(api, resource, object, patch, definition.transform === undefined)
      for (const revision of written.overtaken ? [] : written.revisions) {
        // The watch may be quicker than the answer to our own request.
        if (state.pendingChanges?.delete(revision)) {
          state.ownWriteSeen = true
          if (state.pendingChanges.size === 0) state.pendingChanges = undefined
        } else if (!isAtLeastAsNew(state.object.metadata.resourceVersion, revision)) {
          state.ownWrites ??= new Set()
          state.ownWrites.add(revision)
        }
      }
      const last = written.revisions.at(-1)
      if (last !== undefined && !isAtLeastAsNew(state.object.metadata.resourceVersion, last)) {
        state.awaitedWrite = { revision: last, until: monotonic(clock) + consistencyTimeout }
      }
      if (written.gone) return undefined
      patch.sent()
      if (written.object === undefined) return object
      return definition.transform === undefined ? written.object : definition.transform(written.object)
    },
    runWithLease: (lease, signal, work) =>
      runWithLease({ api, ...lease, identity: options.identity, clock, log, signal, random }, work),
    wake: (state) => {
      if (tracker.get(state.key) === state) queue.add(state.key)
    },
    track(daemon) {
      const kept = daemon
        .catch((error: unknown) => log.error('a daemon could not be looked after', { err: error }))
        .finally(() => daemons.delete(kept))
      daemons.add(kept)
    },
  }

  const queue = createKeyedQueue({
    concurrency,
    errorDelays: settings.queueing.errorDelays.map(toMilliseconds),
    clock,
    metrics: metrics?.queue,
    onActive: (keys) => metrics?.activeWorkers(keys),
    async work(key) {
      for (let gone = tracker.deleted(key); gone !== undefined; gone = tracker.deleted(key)) {
        await finalizeDeleted(env, gone)
        tracker.dropDeleted(key)
      }
      const state = tracker.get(key)
      if (state === undefined) {
        queue.forget(key)
        return undefined
      }
      const began = monotonic(clock)
      const seconds = () => (monotonic(clock) - began) / 1000
      try {
        const after = await reconcileObject(env, state)
        metrics?.reconciled(
          state.handlerFailed ? 'error' : after === undefined ? 'success' : 'requeue_after',
          seconds(),
        )
        return after
      } catch (error) {
        metrics?.reconciled('error', seconds())
        throw error
      }
    },
    onError(key, error, failures, delay) {
      if (abandoned.signal.aborted) return
      const message = error instanceof Error ? error.message : String(error)
      log.error(`what handlers asked for could not be done, trying again: ${message}`, {
        object: key,
        err: error,
        failures,
        delay,
      })
    },
  })

  const tracker = createObjectTracker({
    definition,
    clock,
    log,
    onChange(key, specChanged) {
      if (specChanged) queue.forget(key)
      queue.add(key)
    },
  })
  const subscriptions = [
    ...sources.map((source) => source.subscribe((event) => tracker.recordEvent(event))),
    ...watched.flatMap((other) =>
      other.sources.map((source) => source.subscribe((event) => tracker.recordWatchedEvent(other.watched, event))),
    ),
  ]
  for (const source of sources)
    for (const object of source.store.values()) tracker.recordEvent({ type: 'listed', object })

  const sourcesStop = new AbortController()
  const { backoff } = env.limits({})
  const sourceRuns = definition.sources.map((handler) =>
    runSource(handler, { api, clock, log, random, backoff, wake: (key) => tracker.wake(key) }, sourcesStop.signal),
  )

  return {
    async stop(reason) {
      sourcesStop.abort(new Error(reason))
      for (const unsubscribe of subscriptions) unsubscribe()
      tracker.end(reason)
      let handlersEnded = false
      const ended = Promise.all([queue.stop(), ...daemons, ...sourceRuns]).then(() => {
        handlersEnded = true
        return events?.close(settings.execution.stopTimeout)
      })
      // The machine's time, not the clock's: a process must go, whatever time its handlers think it is.
      const patience = new AbortController()
      const limit = realDelay(toMilliseconds(settings.execution.stopTimeout), undefined, { signal: patience.signal })
      await Promise.race([ended, limit])
      if (!handlersEnded) log.warn('handlers did not heed their signal in time and were abandoned')
      abandoned.abort(new Error(reason))
      patience.abort()
      await limit.catch(() => {})
    },
  }
}
