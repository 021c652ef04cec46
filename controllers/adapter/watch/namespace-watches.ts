/**
 * Watches the kinds that a task works with: in all namespaces at once where its ServiceAccount may, and otherwise in each namespace
 * that the task works in, for which a Role is enough. ADAPTER-27.
 *
 *   need(kind, namespace) ─► everywhere ──(403)──► in each namespace that was needed
 *                                ▲                      │
 *                                └──(allowed again)─────┘
 */
import { AbortScope } from '#lib/abort/abort-scope.ts'
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

/** A namespace that a task works in. */
interface UsedNamespace {
  /** Monotonic milliseconds. */
  usedAt: number
  watch?: { readonly reflector: Reflector<KubeObject>; readonly end: AbortController; refusal: string | undefined }
}

interface WatchedKind {
  readonly resource: Resource
  /** Why it can't be watched everywhere. */
  refusal: { readonly isForbidden: boolean; readonly message: string } | undefined
  /** It is looked for in all namespaces, or has none. */
  isEverywhere: boolean
  readonly namespaces: Map<string, UsedNamespace>
}

export class NamespaceWatches {
  readonly #options: NamespaceWatchesOptions
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
    if (watched.refusal?.isForbidden === true) this.#watchEachNamespace(watched)
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
    const key = `${apiVersionOf(resource)}/${resource.kind}`
    const known = this.#kinds.get(key)
    if (known !== undefined) return known
    const watched: WatchedKind = { resource, refusal: undefined, isEverywhere: false, namespaces: new Map() }
    this.#kinds.set(key, watched)
    this.#startReflector(resource, {}, (refusal) => {
      watched.refusal = refusal
      if (refusal === undefined) this.#stopNamespaceWatches(watched)
      else if (refusal.isForbidden) this.#watchEachNamespace(watched)
      this.#reportProblem(watched)
    })
    return watched
  }

  #startReflector(
    resource: Resource,
    where: { readonly namespace?: string; readonly signal?: AbortSignal },
    onRefusal: (refusal: WatchedKind['refusal']) => void,
  ): Reflector<KubeObject> {
    const { transport, labelSelector, transform, onEvent, clock, log, signal } = this.#options
    const reflector = reflect<KubeObject>(transport, resource, {
      labelSelector,
      transform,
      onEvent,
      onHealth: (failure) => {
        if (failure === undefined) onRefusal(undefined)
        else if (failure.cause === 'refused')
          onRefusal({ isForbidden: failure.error.status === 403, message: failure.error.message })
      },
      clock,
      log,
      signal,
      ...where,
    })
    this.#running.add(reflector.stopped)
    void reflector.stopped.then(() => this.#running.delete(reflector.stopped))
    return reflector
  }

  /** Watches each namespace by itself. */
  #watchEachNamespace(watched: WatchedKind): void {
    let open = [...watched.namespaces.values()].filter(({ watch }) => watch !== undefined).length
    for (const [namespace, place] of watched.namespaces) {
      if (place.watch !== undefined || open >= MAX_NAMESPACES) continue
      open++
      const end = new AbortScope(this.#options.signal)
      const reflector = this.#startReflector(watched.resource, { namespace, signal: end.signal }, (refusal) => {
        if (place.watch !== undefined) place.watch.refusal = refusal?.message
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

  #reportProblem(watched: WatchedKind): void {
    this.#options.onWatchProblem(watched.resource.kind, watchProblem(watched))
  }
}

/** Why changes of a kind are not seen; undefined when all of them are. */
const watchProblem = ({ resource, refusal, isEverywhere, namespaces }: WatchedKind): string | undefined => {
  if (refusal === undefined) return undefined
  if (!refusal.isForbidden || isEverywhere || resource.scope === 'Cluster') return refusal.message
  const all = [...namespaces.values()]
  if (all.some(({ watch }) => watch === undefined))
    return `${refusal.message}; in more than ${MAX_NAMESPACES} namespaces only that will do`
  return all.find(({ watch }) => watch?.refusal !== undefined)?.watch?.refusal
}
