import type {
  AdmissionContext,
  ChangeContext,
  Context,
  DaemonContext,
  EventContext,
  Handler,
  MayWait,
  SourceContext,
} from './engine/context.ts'
import type { ChangeHandler, Definition, Watched } from './engine/definition.ts'
import { type DeclaredIndex, declareIndex, type Index } from './engine/indexes.ts'
import type { ChangeProgress } from './engine/progress.ts'
import { createRegistration, type Registration } from './engine/registration.ts'
import type { ObjectStorage, StorageKind } from './engine/storage.ts'
import { type DeclaredState, OWN_PREFIX } from './model/declared-state.ts'
import type { Duration } from './model/duration.ts'
import type { Filters } from './model/filters.ts'
import type { RetryPolicy } from './model/outcome.ts'
import type { KubeObject, Resource } from './model/resource.ts'

export interface ControllerOptions<O extends KubeObject> {
  /** Part of annotations, finalizer, metrics and logs; unique in an operator. Default: the plural of the kind. */
  readonly name?: string
  /** Default: `muster.dev/<name>`. */
  readonly finalizer?: string
  /** How many objects are handled at the same time. Default: settings.queueing.concurrency. */
  readonly concurrency?: number
  /** Keeps only what is needed of an object before it is cached. Must keep identity and metadata; handlers see the rest. */
  transform?(object: O): O
  /** Where unfinished handlers of a change are kept. Default 'memory'. RUNTIME-15. */
  readonly progress?: StorageKind | ObjectStorage<ChangeProgress>
  /** Where the declared state that was handled last is kept. Default 'memory'. */
  readonly diffBase?: StorageKind | ObjectStorage<DeclaredState>
}

export type HandlerOptions<O extends KubeObject> = RetryPolicy & Filters<O>
export type ChangeReaction<O extends KubeObject> = Handler<ChangeContext<O>, MayWait>

/**
 * What to do about the objects of one kind: a value, to which functions add handlers. Ids are explicit because they are
 * remembered on objects, and bundles rename functions. `operator({ controllers })` runs it.
 */
export interface Controller<O extends KubeObject> {
  readonly name: string
  readonly resource: Resource<O>
  readonly on: {
    /** The object was never handled, whether it is new or was found at the start. */
    create(id: string, handler: ChangeReaction<O>, options?: HandlerOptions<O>): void
    /** What is declared (see DeclaredState) differs from what was handled last. */
    update(id: string, handler: ChangeReaction<O>, options?: HandlerOptions<O>): void
    /**
     * The object is being deleted. Adds a finalizer, which goes when the handler has succeeded or given up, unless
     * `optional`: then it is called when the deletion is seen, at the latest when the object is gone, and only once.
     */
    delete(id: string, handler: ChangeReaction<O>, options?: HandlerOptions<O> & { readonly optional?: boolean }): void
    /** The object was handled before this process started. */
    resume(id: string, handler: ChangeReaction<O>, options?: HandlerOptions<O>): void
    /** A part of the declared state came, went or changed. @param path e.g. 'spec.replicas', or a list for keys that have dots */
    field(path: string | readonly string[], id: string, handler: ChangeReaction<O>, options?: HandlerOptions<O>): void
    /** Every event of the watch. Nothing is remembered and nothing retried. */
    event(id: string, handler: Handler<EventContext<O>>, options?: Filters<O>): void
    /** Admission: throws to refuse; the message is what the person sees. */
    validate(id: string, handler: Handler<AdmissionContext<O>>, options?: Filters<O>): void
    /** Admission: changes the object on its way in, through `patch`. Must be idempotent. */
    mutate(id: string, handler: Handler<AdmissionContext<O>>, options?: Filters<O>): void
  }
  /**
   * Level-triggered: called with what is true now, whenever something may have changed, and until it returns without
   * error. Not called for an object in deletion when there is a delete handler, which then has the word.
   */
  reconcile(handler: Handler<Context<O>, MayWait>, options?: HandlerOptions<O>): void
  /** Called for each object again and again, `every` after the last call ended (`sharp`: after it began). */
  timer(
    id: string,
    options: HandlerOptions<O> & {
      readonly every: Duration
      /** Only when the declared state has not changed for so long. */
      readonly idle?: Duration
      readonly sharp?: boolean
      /** Before the first call. Default: at once. */
      readonly initialDelay?: Duration
    },
    handler: Handler<Context<O>>,
  ): void
  /**
   * Runs for as long as the object is there and the filters match; its signal ends it. Called again after an error.
   * With `lease` it runs in one process at a time, the one that holds the Lease.
   */
  daemon(
    id: string,
    handler: Handler<DaemonContext<O>>,
    options?: HandlerOptions<O> & {
      lease?(object: O): { readonly name: string; readonly namespace: string } | undefined
    },
  ): void
  index<K, V>(name: string, of: (object: O) => Iterable<readonly [K, V]>): Index<K, V>
  /** Wakes this controller's objects when an object of another kind changes; `map` says which. */
  watches<T extends KubeObject>(
    other: Resource<T>,
    map: (object: T) => Iterable<{ readonly name: string; readonly namespace?: string }>,
    options?: WatchOptions<T>,
  ): WatchedKind<T>
  /**
   * Wakes this controller's objects for reasons that are not in Kubernetes, such as another API's stream. Runs as long as
   * handlers do, and again, after the default backoff, when it ends or throws before its signal aborts.
   */
  source(id: string, run: Handler<SourceContext>): void
  /** What was declared, for the engine. */
  readonly definition: Definition<O>
}

export interface WatchOptions<T extends KubeObject> {
  readonly labelSelector?: string
  /** Watch all namespaces, whichever ones the operator is told: for objects that live elsewhere than what they wake. */
  readonly everywhere?: boolean
  /** Keeps only what is needed of an object before it is cached. Must keep identity and metadata. */
  transform?(object: T): T
}

/** A kind that wakes a controller: its objects can be looked up. */
export interface WatchedKind<T extends KubeObject> {
  index<K, V>(name: string, of: (object: T) => Iterable<readonly [K, V]>): Index<K, V>
}

/** A controller of any kind, as `operator` takes it. */
export type AnyController = { readonly name: string; readonly definition: Definition }

/** A controller without handlers. @throws RegistrationError for bad input, as all its methods do */
export const controller = <O extends KubeObject>(
  resource: Resource<O>,
  options: ControllerOptions<O> = {},
): Controller<O> => {
  const { name = resource.plural, progress = 'memory', diffBase = 'memory' } = options
  const check = createRegistration(name)
  if (options.concurrency !== undefined) check.count('concurrency', options.concurrency)
  const finalizer = options.finalizer ?? OWN_PREFIX + name
  if (!finalizer.includes('/'))
    check.fail(`finalizer "${finalizer}" needs a domain, such as 'example.com/${finalizer}'`)

  const definition = {
    name,
    resource,
    finalizer,
    concurrency: options.concurrency,
    ...(options.transform === undefined ? {} : { transform: options.transform }),
    progress,
    diffBase,
    changes: [],
    events: [],
    reconcile: undefined,
    timers: [],
    daemons: [],
    indexes: [],
    watches: [],
    sources: [],
    validators: [],
    mutators: [],
  } as Declared<O>

  return {
    name,
    resource,
    definition,
    on: changeHandlers(definition, check),
    ...lastingHandlers(definition, check),
    ...watchedKinds(definition, check),
  }
}

/** Those that answer events and changes. */
const changeHandlers = <O extends KubeObject>(definition: Declared<O>, check: Registration): Controller<O>['on'] => {
  const change =
    (on: ChangeHandler['on']) =>
    (
      id: string,
      run: ChangeReaction<O>,
      options: HandlerOptions<O> & { readonly optional?: boolean } = {},
      field: readonly string[] = [],
    ) => {
      check.reserveId(`${on} handler`, id)
      check.limits(id, options)
      definition.changes.push({
        on,
        id,
        field,
        optional: options.optional === true,
        policy: options,
        filters: options,
        run,
      })
    }

  return {
    create: change('create'),
    update: change('update'),
    delete: change('delete'),
    resume: change('resume'),
    field(path, id, run, options) {
      const field = typeof path === 'string' ? path.split('.') : path
      if (!isDeclared(field)) {
        check.fail(
          `field "${field.join('.')}" of "${id}" is not declared by people: write a path such as 'spec.replicas', 'metadata.labels' or 'metadata.annotations'`,
        )
      }
      change('field')(id, run, options, field)
    },
    event(id, run, filters = {}) {
      check.reserveId('event handler', id)
      definition.events.push({ id, filters, run })
    },
    validate(id, run, filters = {}) {
      check.reserveId('validate handler', id)
      definition.validators.push({ id, filters, run })
    },
    mutate(id, run, filters = {}) {
      check.reserveId('mutate handler', id)
      definition.mutators.push({ id, filters, run })
    },
  }
}

/** Those that run for as long as an object, or the controller, is there. */
const lastingHandlers = <O extends KubeObject>(
  definition: Declared<O>,
  check: Registration,
): Pick<Controller<O>, 'reconcile' | 'timer' | 'daemon' | 'source'> => ({
  reconcile(run, options = {}) {
    check.reserveId('reconcile handler', 'reconcile')
    check.limits('reconcile', options)
    definition.reconcile = { id: 'reconcile', policy: options, filters: options, run }
  },
  timer(id, options, run) {
    check.reserveId('timer', id)
    check.limits(id, options)
    const every = check.duration(`timer "${id}" every`, options.every)
    if (every === 0) check.fail(`timer "${id}" every: write a time above 0, such as '1m'`)
    definition.timers.push({
      id,
      policy: options,
      filters: options,
      every,
      idle: check.duration(`timer "${id}" idle`, options.idle ?? 0),
      initialDelay: check.duration(`timer "${id}" initialDelay`, options.initialDelay ?? 0),
      sharp: options.sharp === true,
      run,
    })
  },
  daemon(id, run, options = {}) {
    check.reserveId('daemon', id)
    check.limits(id, options)
    definition.daemons.push({ id, policy: options, filters: options, lease: options.lease ?? (() => undefined), run })
  },
  source(id, run) {
    check.reserveId('source', id)
    definition.sources.push({ id, run })
  },
})

/** What is kept of objects, and which other kinds wake a controller. */
const watchedKinds = <O extends KubeObject>(
  definition: Declared<O>,
  check: Registration,
): Pick<Controller<O>, 'index' | 'watches'> => {
  const indexesOf =
    <T extends KubeObject>(indexes: DeclaredIndex<T>[]): WatchedKind<T>['index'] =>
    (name, of) => {
      check.reserveId('index', name)
      const index = declareIndex(name, of)
      indexes.push(index)
      return index
    }

  return {
    index: indexesOf(definition.indexes),
    watches<T extends KubeObject>(other: Resource<T>, map: Watched<T>['map'], options: WatchOptions<T> = {}) {
      const indexes: DeclaredIndex<T>[] = []
      const watched: Watched<T> = {
        resource: other,
        map,
        labelSelector: options.labelSelector,
        everywhere: options.everywhere === true,
        indexes,
        ...(options.transform && { transform: options.transform }),
      }
      definition.watches.push(watched)
      return { index: indexesOf(indexes) }
    },
  }
}

/** A Definition while handlers are added to it. */
type Declared<O extends KubeObject> = {
  -readonly [K in keyof Definition<O>]: Definition<O>[K] extends readonly (infer Item)[] ? Item[] : Definition<O>[K]
}

/** Fields that are part of an DeclaredState: all but the status and what the API server keeps in metadata. */
const isDeclared = ([first, second]: readonly string[]): boolean =>
  first === 'metadata' ? second === 'labels' || second === 'annotations' : first !== '' && first !== 'status'
