import { messageOf } from '#lib/errors/message-of.ts'
import type { Api } from '../client/api.ts'
import { type Clock, monotonic } from '../model/clock.ts'
import { toMilliseconds } from '../model/duration.ts'
import type { Logger } from '../model/log.ts'
import { type ControllerEnvironment, createEnvironment } from './create-environment.ts'
import { followKind } from './follow-kind.ts'
import { createKeyedQueue, type KeyedQueue, type QueueMetrics } from './keyed-queue.ts'
import { ObjectTracker } from './object-tracker.ts'
import type { PreparedController } from './prepare-controller.ts'
import { finalizeDeleted, reconcileObject } from './reconcile-object.ts'
import type { OperatorSettings } from './settings.ts'
import { runSource } from './source.ts'
import { waitAtMost } from './wait-at-most.ts'

/** What is counted about a controller; the names are controller-runtime's. */
export interface ControllerRunMetrics {
  readonly queue: QueueMetrics
  reconciled(result: 'success' | 'error' | 'requeue' | 'requeue_after', seconds: number): void
  activeWorkers(count: number): void
  concurrency(limit: number): void
}

export interface ControllerRunOptions {
  /** Its informers are filled. */
  readonly prepared: PreparedController
  readonly api: Api
  readonly clock: Clock
  readonly log: Logger
  readonly random: () => number
  readonly settings: OperatorSettings
  readonly metrics?: ControllerRunMetrics | undefined
  /** Of this process, for the leases of daemons and the reporter of events. */
  readonly identity: string
}

/** One controller at work. */
export interface ControllerRun {
  /** Ends handlers and daemons by their signals. Resolves when all have ended, or were given up after `stopTimeout`. */
  stop(reason: string): Promise<void>
}

/** Reconciles all objects of a controller until it is stopped. */
export const startControllerRun = (options: ControllerRunOptions): ControllerRun => {
  const { prepared, clock, random, settings, metrics } = options
  const { definition } = prepared
  const log = options.log.child({ controller: definition.name })
  const abandoned = new AbortController()
  const api = options.api.withLimits({ signal: abandoned.signal })
  const concurrency = definition.concurrency ?? settings.queueing.concurrency
  metrics?.concurrency(concurrency)

  const { env, daemonsEnded, closeEvents } = createEnvironment({
    ...options,
    definition,
    api,
    log,
    isPresent: (state) => tracker.get(state.key) === state,
    wake: (key) => queue.add(key),
  })

  const queue = createKeyedQueue({
    concurrency,
    errorDelays: settings.queueing.errorDelays.map(toMilliseconds),
    random,
    clock,
    metrics: metrics?.queue,
    onActive: (keys) => metrics?.activeWorkers(keys),
    work: (key) => reconcileKey(key, { env, tracker, queue, metrics }),
    onError(key, error, failures, delay) {
      if (abandoned.signal.aborted) return
      const fields = { object: key, err: error, failures, delay }
      log.error(`the changes of handlers could not be written, retrying: ${messageOf(error)}`, fields)
    },
  })

  const tracker = new ObjectTracker({
    definition,
    clock,
    log,
    onChange(key, specChanged) {
      if (specChanged) queue.forget(key)
      queue.add(key)
    },
  })
  const unsubscribe = subscribe(prepared, tracker)

  const sourcesStop = new AbortController()
  const { backoff } = env.limits({})
  const sources = definition.sources.map((handler) =>
    runSource(
      handler,
      {
        api,
        clock,
        log,
        random,
        backoff,
        wake: (key) => tracker.wake(key),
        follow: (resource, listener, signal) => followKind(prepared, resource, listener, { log, signal }),
      },
      sourcesStop.signal,
    ),
  )

  return {
    // RUNTIME-32
    async stop(reason) {
      sourcesStop.abort(new Error(reason))
      unsubscribe()
      tracker.end(reason)
      let handlersEnded = false
      const ended = Promise.all([queue.stop(), daemonsEnded(), ...sources]).then(() => {
        handlersEnded = true
        return closeEvents()
      })
      const stopTimeoutMs = toMilliseconds(settings.execution.stopTimeout)
      await waitAtMost(ended, sourcesStop.signal, stopTimeoutMs)
      if (!handlersEnded) log.warn(`handlers did not end within ${stopTimeoutMs} ms, their requests are cut`)
      abandoned.abort(new Error(reason))
    },
  }
}

interface ReconcileParts {
  readonly env: ControllerEnvironment['env']
  readonly tracker: ObjectTracker
  readonly queue: Pick<KeyedQueue, 'forget'>
  readonly metrics: ControllerRunMetrics | undefined
}

/** @returns milliseconds after which to reconcile again; undefined: when something happens */
const reconcileKey = async (
  key: string,
  { env, tracker, queue, metrics }: ReconcileParts,
): Promise<number | undefined> => {
  for (let deleted = tracker.deleted(key); deleted !== undefined; deleted = tracker.deleted(key)) {
    await finalizeDeleted(env, deleted)
    tracker.dropDeleted(key)
  }
  const state = tracker.get(key)
  if (state === undefined) {
    queue.forget(key)
    return undefined
  }
  const startedAt = monotonic(env.clock)
  const seconds = () => (monotonic(env.clock) - startedAt) / 1000
  try {
    const delay = await reconcileObject(env, state)
    metrics?.reconciled(state.handlerFailed ? 'error' : delay === undefined ? 'success' : 'requeue_after', seconds())
    return delay
  } catch (error) {
    metrics?.reconciled('error', seconds())
    throw error
  }
}

/** The tracker learns what is there and each event from now on. @returns ends that */
const subscribe = ({ own, watched }: PreparedController, tracker: ObjectTracker): (() => void) => {
  const subscriptions = [
    ...own.map((informer) => informer.subscribe((event) => tracker.recordEvent(event))),
    ...watched.flatMap((other) =>
      other.informers.map((informer) =>
        informer.subscribe((event) => tracker.recordWatchedEvent(other.watched, event)),
      ),
    ),
  ]
  for (const { store } of own) for (const object of store.values()) tracker.recordEvent({ type: 'listed', object })
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe()
  }
}
