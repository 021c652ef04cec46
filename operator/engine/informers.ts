import { type ReflectorEvent, type ReflectorOptions, reflect } from '../client/reflector.ts'
import type { Store } from '../client/store.ts'
import type { Transport } from '../client/transport.ts'
import type { Logger } from '../model/log.ts'
import { isSameKind, type KubeObject, type Resource } from '../model/resource.ts'
import {
  kindOf,
  type ProblemListener,
  type WatchProblem,
  WatchProblems,
  type WatchProblemsOptions,
} from './watch-problems.ts'

export interface InformerRequest<O extends KubeObject = KubeObject> {
  readonly resource: Resource<O>
  readonly namespace: string | undefined
  readonly labelSelector?: string | undefined
  transform?(object: O): O
}

type Listener<O extends KubeObject> = (event: ReflectorEvent<O>) => void

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

export interface InformersOptions
  extends WatchProblemsOptions,
    Pick<ReflectorOptions<KubeObject>, 'clock' | 'signal' | 'inactivityTimeout' | 'random' | 'beat'> {
  readonly transport: Transport
}

interface OpenedInformer {
  readonly request: InformerRequest
  readonly informer: Informer
  readonly stopped: Promise<void>
}

export const createInformers = (options: InformersOptions): Informers => {
  const opened: OpenedInformer[] = []
  const synced = new Set<InformerRequest>()
  const problems = new WatchProblems(options)

  const open = <O extends KubeObject>(request: InformerRequest<O>): Informer<O> => {
    const same = opened.find((other) => isSame(other.request, request))
    if (same !== undefined) return same.informer as unknown as Informer<O>
    const listeners = new Listeners<O>(options.log)
    const { store, ...reflector } = reflect(options.transport, request.resource, {
      ...options,
      namespace: request.namespace,
      labelSelector: request.labelSelector,
      transform: request.transform,
      onEvent: (event) => {
        if (event.type === 'synced') synced.add(request)
        listeners.tell(event)
      },
      onHealth: (failure) => problems.report(request, failure),
    })
    const informer: Informer<O> = {
      store,
      synced: reflector.synced,
      subscribe: (listener) => listeners.add(listener),
      subscribeProblems: (listener) => problems.subscribe(request, listener),
    }
    opened.push({ request, informer: informer as unknown as Informer, stopped: reflector.stopped })
    return informer
  }

  const find = <O extends KubeObject>(resource: Resource<O>): readonly Informer<O>[] => {
    const ofKind = opened.filter(
      ({ request }) => isSameKind(request.resource, resource) && request.labelSelector === undefined,
    )
    const chosen = ofKind.toSorted((left, right) => rank(left.request) - rank(right.request))[0]?.request
    return ofKind
      .filter(({ request }) => request.transform === chosen?.transform)
      .filter(({ request }) => (request.namespace === undefined) === (chosen?.namespace === undefined))
      .map(({ informer }) => informer as unknown as Informer<O>)
  }

  return {
    open,
    find,
    synced: async () => (await Promise.all(opened.map(({ informer }) => informer.synced))).every(Boolean),
    problems: () => problems.all,
    filling: () =>
      opened
        .filter(({ request }) => !synced.has(request))
        .map(({ request, informer }) => `${kindOf(request)} (${informer.store.size} so far)`),
    stopped: async () => {
      await Promise.all(opened.map(({ stopped }) => stopped))
    },
  }
}

/** The listeners of a collection. What one of them throws keeps no event from the others. */
class Listeners<O extends KubeObject> {
  readonly #listeners = new Set<Listener<O>>()
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  /** @returns ends it */
  add(listener: Listener<O>): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  tell(event: ReflectorEvent<O>): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (error) {
        this.#log.error('the map function of a watched kind threw, this event wakes no object', {
          event: event.type,
          err: error,
        })
      }
    }
  }
}

/** All namespaces before single ones, whole objects before projections. */
const rank = ({ namespace, transform }: InformerRequest): number =>
  (namespace === undefined ? 0 : 2) + (transform === undefined ? 0 : 1)

const isSame = (left: InformerRequest, right: InformerRequest): boolean =>
  isSameKind(left.resource, right.resource) &&
  left.namespace === right.namespace &&
  left.labelSelector === right.labelSelector &&
  left.transform === right.transform
