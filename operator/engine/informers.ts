import { type ReflectorEvent, type ReflectorOptions, reflect } from '../client/reflector.ts'
import type { Store } from '../client/store.ts'
import type { Transport } from '../client/transport.ts'
import type { WatchFailure } from '../client/watch.ts'
import type { Clock } from '../model/clock.ts'
import type { Duration } from '../model/duration.ts'
import type { Logger } from '../model/log.ts'
import { apiVersionOf, isSameKind, type KubeObject, type Resource } from '../model/resource.ts'

/** Why objects of a kind can't be read at the moment. The operator keeps trying and is not ready meanwhile. RUNTIME-37. */
export interface WatchProblem {
  readonly resource: Resource
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined
  /** NotInstalled: the API server doesn't know the kind. Forbidden: RBAC refuses. Unreachable: anything else. */
  readonly reason: 'NotInstalled' | 'Forbidden' | 'Unreachable'
  readonly message: string
}

export interface InformerRequest<O extends KubeObject = KubeObject> {
  readonly resource: Resource<O>
  readonly namespace: string | undefined
  readonly labelSelector?: string | undefined
  transform?(object: O): O
}

type Listener<O extends KubeObject> = (event: ReflectorEvent<O>) => void
type ProblemListener = (problem: WatchProblem | undefined) => void

/** One watched collection, however many controllers look at it. */
export interface Informer<O extends KubeObject = KubeObject> {
  readonly store: Store<O>
  readonly synced: Promise<boolean>
  /** @returns ends the subscription */
  subscribe(listener: Listener<O>): () => void
  /** @param listener told at once when there is a problem, then of each change: undefined when it is over @returns ends that */
  subscribeProblems(listener: ProblemListener): () => void
}

/** The watches of one operator: each collection is watched once for the same namespace, selector and projection. RUNTIME-36. */
export interface Informers {
  open<O extends KubeObject>(request: InformerRequest<O>): Informer<O>
  /** What was opened of a kind without a selector, whole objects rather than projections; one for each namespace. */
  find<O extends KubeObject>(resource: Resource<O>): readonly Informer<O>[]
  /** True when every list is complete, false when stopped before. */
  readonly synced: () => Promise<boolean>
  problems(): readonly WatchProblem[]
  /** What is not listed to its end yet, with how much of it is there: `widgets.example.com (12 so far)`. */
  filling(): readonly string[]
  /** Resolves when no watch is left, after the signal has aborted. */
  stopped(): Promise<void>
}

export interface InformersOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  readonly inactivityTimeout: Duration
  readonly random: () => number
  readonly beat?: (() => void) | undefined
  /** What to do about a problem, for the log line. */
  remedy(problem: WatchProblem): string | undefined
}

export const createInformers = (options: InformersOptions): Informers => {
  const { transport, clock, log, signal, inactivityTimeout, random, beat } = options
  const opened: { readonly request: InformerRequest; readonly source: Informer; readonly stopped: Promise<void> }[] = []
  const synced = new Set<InformerRequest>()
  const problems = new Map<InformerRequest, WatchProblem>()
  const problemListeners = new Map<InformerRequest, Set<ProblemListener>>()

  const tell = (request: InformerRequest, problem: WatchProblem | undefined) => {
    for (const listener of problemListeners.get(request) ?? []) listener(problem)
  }

  /** One line when a problem comes or turns into another, one when it is over: not one each try. */
  const report = (request: InformerRequest, failure: WatchFailure | undefined) => {
    const before = problems.get(request)
    const problem = failure && problemOf(request, failure)
    const kind = kindOf(request)
    if (problem === undefined) {
      if (before === undefined) return
      problems.delete(request)
      log.info(`${kind} can be watched again`)
      tell(request, undefined)
      return
    }
    problems.set(request, problem)
    tell(request, problem)
    if (before?.reason === problem.reason && before.message === problem.message) return
    const remedy = options.remedy(problem)
    log.warn(remedy === undefined ? `${kind}: ${problem.message}` : `${kind}: ${problem.message}: ${remedy}`, {
      reason: problem.reason,
    })
  }

  const open = <O extends KubeObject>(request: InformerRequest<O>): Informer<O> => {
    const same = opened.find((other) => isSame(other.request, request))
    if (same !== undefined) return same.source as unknown as Informer<O>

    const listeners = new Set<Listener<O>>()
    const reflectorOptions: ReflectorOptions<O> = {
      namespace: request.namespace,
      labelSelector: request.labelSelector,
      transform: request.transform,
      clock,
      log,
      signal,
      inactivityTimeout,
      random,
      beat,
      onEvent: (event) => {
        if (event.type === 'synced') synced.add(request)
        for (const listener of listeners) {
          try {
            listener(event)
          } catch (error) {
            // One controller's mistake must not keep the event from the others.
            log.error('the map function of a watched kind threw, this event wakes no object', {
              event: event.type,
              err: error,
            })
          }
        }
      },
      onHealth: (failure) => report(request, failure),
    }
    const reflector = reflect(transport, request.resource, reflectorOptions)
    const source: Informer<O> = {
      store: reflector.store,
      synced: reflector.synced,
      subscribe(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      subscribeProblems(listener) {
        const problem = problems.get(request)
        if (problem !== undefined) listener(problem)
        const others = problemListeners.get(request) ?? new Set()
        problemListeners.set(request, others.add(listener))
        return () => others.delete(listener)
      },
    }
    opened.push({
      request: request,
      source: source as unknown as Informer,
      stopped: reflector.stopped,
    })
    return source
  }

  const find = <O extends KubeObject>(resource: Resource<O>): readonly Informer<O>[] => {
    const ofKind = opened.filter(
      ({ request }) => isSameKind(request.resource, resource) && request.labelSelector === undefined,
    )
    const chosen = ofKind.toSorted((left, right) => rank(left.request) - rank(right.request))[0]?.request
    return ofKind
      .filter(({ request }) => request.transform === chosen?.transform)
      .filter(({ request }) => (request.namespace === undefined) === (chosen?.namespace === undefined))
      .map(({ source }) => source as unknown as Informer<O>)
  }

  return {
    open,
    find,
    synced: async () => (await Promise.all(opened.map(({ source }) => source.synced))).every(Boolean),
    problems: () => [...problems.values()],
    filling: () =>
      opened
        .filter(({ request }) => !synced.has(request))
        .map(({ request, source }) => `${kindOf(request)} (${source.store.size} so far)`),
    stopped: async () => {
      await Promise.all(opened.map(({ stopped }) => stopped))
    },
  }
}

const kindOf = ({ resource }: InformerRequest): string => `${resource.plural}.${resource.group || 'core'}`

/** All namespaces before single ones, whole objects before projections. */
const rank = ({ namespace, transform }: InformerRequest): number =>
  (namespace === undefined ? 0 : 2) + (transform === undefined ? 0 : 1)

const isSame = (left: InformerRequest, right: InformerRequest): boolean =>
  isSameKind(left.resource, right.resource) &&
  left.namespace === right.namespace &&
  left.labelSelector === right.labelSelector &&
  left.transform === right.transform

/** Undefined for what is mended at once by itself: an orderly end, an expired history, a server without WatchList. */
const problemOf = ({ resource, namespace }: InformerRequest, failure: WatchFailure): WatchProblem | undefined => {
  const place = { resource: resource as Resource, namespace }
  if (failure.cause === 'slow') return { ...place, reason: 'Unreachable', message: failure.message }
  if (failure.cause !== 'refused' && failure.cause !== 'broken') return undefined
  const { error } = failure
  const message = error instanceof Error ? error.message : String(error)
  const status = failure.cause === 'refused' ? failure.error.status : 0
  if (status === 404)
    return {
      ...place,
      reason: 'NotInstalled',
      message: `the API server does not know ${resource.kind} (${apiVersionOf(resource)})`,
    }
  return { ...place, reason: status === 403 || status === 401 ? 'Forbidden' : 'Unreachable', message }
}
