import { setTimeout as realDelay } from 'node:timers/promises'
import type { Api } from '../client/api.ts'
import { createEvents, type Events } from '../client/events.ts'
import { hold } from '../client/lease.ts'
import type { ReflectorEvent } from '../client/reflector.ts'
import type { Clock } from '../model/clock.ts'
import { equal } from '../model/diff.ts'
import { toMilliseconds } from '../model/duration.ts'
import { essenceOf } from '../model/essence.ts'
import { type Filters, matches } from '../model/filters.ts'
import type { Logger } from '../model/log.ts'
import type { Limits, RetryPolicy } from '../model/outcome.ts'
import { type KubeObject, keyOf } from '../model/resource.ts'
import type { EventContext } from './context.ts'
import type { DaemonEnvironment } from './daemons.ts'
import type { Definition, Watched } from './definition.ts'
import { Life } from './life.ts'
import { memoryOf } from './memory.ts'
import { farewell, pass } from './pass.ts'
import { limitsOf } from './policy.ts'
import { createQueue, type QueueMetrics } from './queue.ts'
import { isAtLeast } from './revision.ts'
import type { OperatorSettings } from './settings.ts'
import type { Source } from './sources.ts'
import { noteNews, type Tended, tend } from './tended.ts'
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

  const tendeds = new Map<string, Tended>()
  /** Gone, and not yet said goodbye to. A new object of the same name may be tended already. */
  const departed = new Map<string, Tended[]>()
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
      const written = await write(api, resource, object, patch, definition.keep === undefined)
      for (const revision of written.revisions) {
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
        tended.awaiting = { revision: last, until: clock.now().getTime() + consistencyTimeout }
      }
      if (written.gone) return undefined
      patch.sent()
      if (written.object === undefined) return object
      return definition.keep === undefined ? written.object : definition.keep(written.object)
    },
    hold: (lease, signal, work) =>
      hold({ api, ...lease, identity: options.identity, clock, log, signal, random }, work),
    wake: (tended) => {
      if (tendeds.get(tended.key) === tended) queue.add(tended.key)
    },
    track(daemon) {
      daemons.add(daemon)
      void daemon.finally(() => daemons.delete(daemon))
    },
  }

  const queue = createQueue({
    concurrency,
    errorDelays: settings.queueing.errorDelays.map(toMilliseconds),
    clock,
    metrics: metrics?.queue,
    onActive: (keys) => metrics?.activeWorkers(keys),
    async work(key) {
      for (let gone = departed.get(key)?.shift(); gone !== undefined; gone = departed.get(key)?.shift()) {
        await farewell(env, gone)
      }
      departed.delete(key)
      const tended = tendeds.get(key)
      if (tended === undefined) {
        queue.forget(key)
        return undefined
      }
      const began = clock.now().getTime()
      const seconds = () => (clock.now().getTime() - began) / 1000
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
      log.error(`could not write what handlers asked for, trying again: ${message}`, {
        object: key,
        err: error,
        failures,
        delay,
      })
    },
  })

  const isFor = (filters: Filters<KubeObject>, object: KubeObject): boolean => {
    try {
      return matches(filters, object)
    } catch (error) {
      log.error('a `when` filter threw, its handler goes on', { object: keyOf(object.metadata), err: error })
      return true
    }
  }

  const asksForEssence = definition.changes.length > 0 || definition.timers.some(({ idle }) => idle > 0)

  const isRedeclared = (object: KubeObject, old: KubeObject): boolean =>
    object.metadata.generation !== old.metadata.generation ||
    (asksForEssence && !equal(essenceOf(old), essenceOf(object)))

  const observe = (tended: Tended, object: KubeObject, old: KubeObject): void => {
    const { resourceVersion, deletionTimestamp } = object.metadata
    tended.object = object
    if (tended.written?.delete(resourceVersion)) tended.echoed = true
    else {
      const redeclared = isRedeclared(object, old)
      noteNews(tended, resourceVersion, redeclared)
      if (redeclared) {
        tended.quietSince = clock.now().getTime()
        // What could not be written may be possible now.
        queue.forget(tended.key)
      }
    }
    if (tended.awaiting !== undefined && isAtLeast(resourceVersion, tended.awaiting.revision))
      tended.written = undefined
    if (deletionTimestamp === undefined) tended.life.changed(object, isFor)
    else if (old.metadata.deletionTimestamp === undefined) {
      tended.life.end('the object is being deleted')
      tended.life = new Life()
    }
  }

  const take = (key: string, object: KubeObject, type: EventContext<KubeObject>['type']): Tended => {
    const tended = tend(key, object, clock.now().getTime(), type === 'listed')
    tendeds.set(key, tended)
    return tended
  }

  const onEvent = (event: ReflectorEvent<KubeObject>): void => {
    if (event.type === 'synced') return
    const { type, object } = event
    const key = keyOf(object.metadata)
    const known = tendeds.get(key)
    const tended = known ?? take(key, object, type)
    if (event.type === 'modified' && known !== undefined) observe(known, object, event.old)
    if (definition.events.length > 0) {
      tended.unseen ??= []
      tended.unseen.push({ type, object })
    }
    if (type === 'deleted') {
      tended.object = object
      tended.life.end('the object is gone')
      tendeds.delete(key)
      departed.set(key, [...(departed.get(key) ?? []), tended])
    }
    queue.add(key)
  }

  /** Objects that another kind's object is about. */
  const onOther = ({ map }: Watched, event: ReflectorEvent<KubeObject>): void => {
    if (event.type === 'synced') return
    const states = event.type === 'modified' ? [event.old, event.object] : [event.object]
    for (const other of states) {
      for (const { name, namespace = other.metadata.namespace } of map(other)) {
        const key = keyOf({ name, ...(resource.scope === 'Namespaced' && namespace !== undefined && { namespace }) })
        const tended = tendeds.get(key)
        if (tended === undefined) continue
        noteNews(tended, `${keyOf(other.metadata)}@${other.metadata.resourceVersion}`, false)
        queue.add(key)
      }
    }
  }

  const subscriptions = [
    ...sources.map((source) => source.subscribe(onEvent)),
    ...watched.flatMap((other) =>
      other.sources.map((source) => source.subscribe((event) => onOther(other.watched, event))),
    ),
  ]
  for (const source of sources) for (const object of source.store.values()) onEvent({ type: 'listed', object })

  return {
    async stop(reason) {
      for (const unsubscribe of subscriptions) unsubscribe()
      for (const tended of tendeds.values()) tended.life.end(reason)
      for (const tended of [...departed.values()].flat()) tended.life.end(reason)
      let handlersEnded = false
      const ended = Promise.all([queue.stop(), ...daemons]).then(() => {
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
