import { setTimeout as realDelay } from 'node:timers/promises'
import type { Api } from '../client/api.ts'
import { createEvents, type Events } from '../client/events.ts'
import { hold } from '../client/lease.ts'
import { type Clock, monotonic } from '../model/clock.ts'
import { toMilliseconds } from '../model/duration.ts'
import type { Logger } from '../model/log.ts'
import type { Limits, RetryPolicy } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import type { DaemonEnvironment } from './daemons.ts'
import type { Definition, Watched } from './definition.ts'
import { memoryOf } from './memory.ts'
import { runOutside } from './outside.ts'
import { farewell, pass } from './pass.ts'
import { limitsOf } from './policy.ts'
import { createQueue, type QueueMetrics } from './queue.ts'
import { isAtLeast } from './revision.ts'
import { createRoster } from './roster.ts'
import type { OperatorSettings } from './settings.ts'
import type { Source } from './sources.ts'
import { write } from './write.ts'

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
  readonly sources: readonly Source[]
  /** Of the kinds that wake this one; filled. */
  readonly watched: readonly { readonly watched: Watched; readonly sources: readonly Source[] }[]
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
  const api = options.api.bound({ signal: abandoned.signal })
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
    progress: memoryOf(definition.progress, `${definition.name}.progress`),
    handled: memoryOf(definition.diffBase, `${definition.name}.handled`),
    limits(policy) {
      const known = limits.get(policy) ?? limitsOf(policy, settings.execution)
      limits.set(policy, known)
      return known
    },
    async write(tended, object, patch) {
      // Gone, as the watch has told: what has its name now is another object.
      if (roster.get(tended.key) !== tended) return undefined
      const written = await write(api, resource, object, patch, definition.keep === undefined)
      for (const revision of written.overtaken ? [] : written.revisions) {
        // The watch may be quicker than the answer to our own request.
        if (tended.news?.delete(revision)) {
          tended.echoed = true
          if (tended.news.size === 0) tended.news = undefined
        } else if (!isAtLeast(tended.object.metadata.resourceVersion, revision)) {
          tended.written ??= new Set()
          tended.written.add(revision)
        }
      }
      const last = written.revisions.at(-1)
      if (last !== undefined && !isAtLeast(tended.object.metadata.resourceVersion, last)) {
        tended.awaiting = { revision: last, until: monotonic(clock) + consistencyTimeout }
      }
      if (written.gone) return undefined
      patch.sent()
      if (written.object === undefined) return object
      return definition.keep === undefined ? written.object : definition.keep(written.object)
    },
    hold: (lease, signal, work) =>
      hold({ api, ...lease, identity: options.identity, clock, log, signal, random }, work),
    wake: (tended) => {
      if (roster.get(tended.key) === tended) queue.add(tended.key)
    },
    track(daemon) {
      const kept = daemon
        .catch((error: unknown) => log.error('a daemon could not be looked after', { err: error }))
        .finally(() => daemons.delete(kept))
      daemons.add(kept)
    },
  }

  const queue = createQueue({
    concurrency,
    errorDelays: settings.queueing.errorDelays.map(toMilliseconds),
    clock,
    metrics: metrics?.queue,
    onActive: (keys) => metrics?.activeWorkers(keys),
    async work(key) {
      for (let gone = roster.departed(key); gone !== undefined; gone = roster.departed(key)) {
        await farewell(env, gone)
        roster.bury(key)
      }
      const tended = roster.get(key)
      if (tended === undefined) {
        queue.forget(key)
        return undefined
      }
      const began = monotonic(clock)
      const seconds = () => (monotonic(clock) - began) / 1000
      try {
        const after = await pass(env, tended)
        metrics?.reconciled(tended.failed ? 'error' : after === undefined ? 'success' : 'requeue_after', seconds())
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

  const roster = createRoster({
    definition,
    clock,
    log,
    onChange(key, redeclared) {
      if (redeclared) queue.forget(key)
      queue.add(key)
    },
  })
  const subscriptions = [
    ...sources.map((source) => source.subscribe((event) => roster.note(event))),
    ...watched.flatMap((other) =>
      other.sources.map((source) => source.subscribe((event) => roster.noteOther(other.watched, event))),
    ),
  ]
  for (const source of sources) for (const object of source.store.values()) roster.note({ type: 'listed', object })

  const outside = new AbortController()
  const { backoff } = env.limits({})
  const beyond = definition.outside.map((handler) =>
    runOutside(handler, { api, clock, log, random, backoff, wake: (key) => roster.wake(key) }, outside.signal),
  )

  return {
    async stop(reason) {
      outside.abort(new Error(reason))
      for (const unsubscribe of subscriptions) unsubscribe()
      roster.end(reason)
      let handlersEnded = false
      const ended = Promise.all([queue.stop(), ...daemons, ...beyond]).then(() => {
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
