/**
 * Watches the kinds that a task works with: in all namespaces at once where its ServiceAccount may, and otherwise in each namespace
 * that the task works in, for which a Role is enough. ADAPTER-27.
 *
 *   need(kind, namespace) ─► everywhere ──(403)──► in each namespace that was needed
 *                                ▲                      │
 *                                └──(allowed again)─────┘
 */

import { AbortScope } from '#lib/abort/abort-scope.ts'
import { detach } from '#lib/process/detach.ts'
import { type Reflector, type ReflectorEvent, type ReflectorOptions, reflect } from '#operator/client/reflector.ts'
import type { Transport } from '#operator/client/transport.ts'
import { monotonic } from '#operator/model/clock.ts'
import { apiVersionOf, type KubeObject, type Resource } from '#operator/model/resource.ts'

/** Namespaces of one kind that are watched one by one. Beyond, one watch for all of them is what the API server can bear. */
const MAX_NAMESPACES = 100
/** A namespace in which nothing is left is watched for so long after the task worked in it, in milliseconds. */
const IDLE_WATCH_MS = 60_000

export interface NamespaceWatchesOptions
  extends Pick<ReflectorOptions<KubeObject>, 'labelSelector' | 'transform' | 'clock' | 'log' | 'signal'> {
  /** In the name of the task's ServiceAccount. */
  readonly transport: Transport
  readonly onEvent: (event: ReflectorEvent<KubeObject>) => void
  /** Changes of a kind are not seen, with why; undefined when they are again. */
  readonly onWatchProblem: (kind: string, problem: string | undefined) => void
}

/** Why something can't be watched; undefined when it is. */
type Refusal = { readonly status: number; readonly message: string } | undefined

/** A namespace that a task works in. */
interface UsedNamespace {
  /** Monotonic milliseconds. */
  usedAt: number
  watch?: { readonly reflector: Reflector<KubeObject>; readonly end: AbortController; refusal: Refusal }
}

interface WatchedKind {
  /** One version of it is enough: an object is served in several, and changes in all of them. */
  readonly resource: Resource
  /** The version in which runs use it since, while this one is watched. */
  other?: Resource
  readonly end: AbortController
  /** Why it can't be watched everywhere. */
  refusal: Refusal
  /** It is looked for in all namespaces, or has none. */
  isEverywhere: boolean
  readonly namespaces: Map<string, UsedNamespace>
}

export class NamespaceWatches {
  readonly #options: NamespaceWatchesOptions
  /** By group and kind. */
  readonly #kinds = new Map<string, WatchedKind>()
  readonly #running = new Set<Promise<void>>()

  constructor(options: NamespaceWatchesOptions) {
    this.#options = options
  }

  /** The task is about to work with objects of this kind. @param namespace undefined: in all of them, or the kind has none */
  ensureWatched(resource: Resource, namespace: string | undefined): void {
    const watched = this.#watchKind(resource)
    if (namespace === undefined) {
      watched.isEverywhere = true
      return
    }
    const usedAt = monotonic(this.#options.clock)
    const place = watched.namespaces.get(namespace)
    if (place !== undefined) place.usedAt = usedAt
    else watched.namespaces.set(namespace, { usedAt })
    if (isForbidden(watched.refusal)) this.#watchEachNamespace(watched)
  }

  /** Ends the watches of namespaces where nothing is left. To be called now and then. */
  stopIdle(): void {
    const now = monotonic(this.#options.clock)
    for (const watched of this.#kinds.values()) {
      const left = [...watched.namespaces].filter(
        ([, { usedAt, watch }]) => now - usedAt >= IDLE_WATCH_MS && (watch?.reflector.store.size ?? 0) === 0,
      )
      for (const [namespace, { watch }] of left) {
        watch?.end.abort(new Error('nothing is left there'))
        watched.namespaces.delete(namespace)
      }
      if (left.length > 0) this.#reportProblem(watched)
    }
  }

  /** Resolves when no watch goes on any more. */
  async stopped(): Promise<void> {
    await Promise.all(this.#running)
  }

  #watchKind(resource: Resource): WatchedKind {
    const key = `${resource.group}/${resource.kind}`
    const known = this.#kinds.get(key)
    if (known !== undefined && !isServedNoMore(known, resource)) {
      known.other = resource
      return known
    }
    known?.end.abort(new Error(`${apiVersionOf(known.resource)} is served no more`))
    const end = new AbortScope(this.#options.signal)
    const { isEverywhere = false } = known ?? {}
    const namespaces = new Map([...(known?.namespaces ?? [])].map(([name, { usedAt }]) => [name, { usedAt }]))
    const watched: WatchedKind = { resource, end, refusal: undefined, isEverywhere, namespaces }
    this.#kinds.set(key, watched)
    // The problem of the one before is none any more, and a watch that never failed says nothing.
    if (known !== undefined) this.#reportProblem(watched)
    this.#startReflector(resource, { signal: end.signal }, (refusal) => {
      if (end.signal.aborted) return
      watched.refusal = refusal
      if (this.#watchOther(watched)) return
      if (refusal === undefined) this.#stopNamespaceWatches(watched)
      else if (isForbidden(refusal)) this.#watchEachNamespace(watched)
      this.#reportProblem(watched)
    })
    return watched
  }

  #startReflector(
    resource: Resource,
    where: { readonly namespace?: string; readonly signal?: AbortSignal },
    onRefusal: (refusal: Refusal) => void,
  ): Reflector<KubeObject> {
    const { transport, labelSelector, transform, onEvent, clock, log, signal } = this.#options
    const reflector = reflect<KubeObject>(transport, resource, {
      labelSelector,
      transform,
      onEvent,
      onHealth: (failure) => {
        if (failure === undefined) onRefusal(undefined)
        else if (failure.cause === 'refused')
          onRefusal({ status: failure.error.status, message: failure.error.message })
      },
      clock,
      log,
      signal,
      ...where,
    })
    this.#running.add(reflector.stopped)
    detach(
      'watching what is applied',
      reflector.stopped.then(() => this.#running.delete(reflector.stopped)),
    )
    return reflector
  }

  /** Watches each namespace by itself. */
  #watchEachNamespace(watched: WatchedKind): void {
    let open = [...watched.namespaces.values()].filter(({ watch }) => watch !== undefined).length
    for (const [namespace, place] of watched.namespaces) {
      if (place.watch !== undefined || open >= MAX_NAMESPACES) continue
      open++
      const end = new AbortScope(watched.end.signal)
      const reflector = this.#startReflector(watched.resource, { namespace, signal: end.signal }, (refusal) => {
        if (place.watch !== undefined) place.watch.refusal = refusal
        if (this.#watchOther(watched)) return
        this.#reportProblem(watched)
      })
      place.watch = { reflector, end, refusal: undefined }
    }
  }

  /** One watch sees all of it now. */
  #stopNamespaceWatches({ namespaces }: WatchedKind): void {
    for (const place of namespaces.values()) {
      place.watch?.end.abort(new Error('it is watched everywhere'))
      delete place.watch
    }
  }

  /**
   * Runs may have met another version before the watch of this one found that it is served no more, and no run may follow. ADAPTER-80.
   * @returns whether that is watched now
   */
  #watchOther(watched: WatchedKind): boolean {
    if (watched.end.signal.aborted || watched.other === undefined || !isServedNoMore(watched, watched.other))
      return false
    this.#watchKind(watched.other)
    return true
  }

  #reportProblem(watched: WatchedKind): void {
    this.#options.onWatchProblem(watched.resource.kind, watchProblem(watched))
  }
}

const isForbidden = (refusal: Refusal): boolean => refusal?.status === 403

/** What is watched is not there any more, and this version is another one. */
const isServedNoMore = ({ resource, refusal, namespaces }: WatchedKind, { version }: Resource): boolean =>
  version !== resource.version &&
  [refusal, ...[...namespaces.values()].map(({ watch }) => watch?.refusal)].some((one) => one?.status === 404)

/** Why changes of a kind are not seen; undefined when all of them are. */
const watchProblem = ({ resource, refusal, isEverywhere, namespaces }: WatchedKind): string | undefined => {
  if (refusal === undefined) return undefined
  if (!isForbidden(refusal) || isEverywhere || resource.scope === 'Cluster') return refusal.message
  const all = [...namespaces.values()]
  if (all.some(({ watch }) => watch === undefined))
    return `${refusal.message}; in more than ${MAX_NAMESPACES} namespaces only that will do`
  return all.find(({ watch }) => watch?.refusal !== undefined)?.watch?.refusal?.message
}
