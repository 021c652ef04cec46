import { AbortScope } from '#lib/abort/abort-scope.ts'
import type { Duration } from '../model/duration.ts'
import {
  apiVersionOf,
  type DeepPartial,
  type KubeObject,
  type Location,
  type ObjectMeta,
  pathOf,
  type Resource,
} from '../model/resource.ts'
import { readPageThatFits } from './bounded-text.ts'
import { isExpired, isNotFound } from './errors.ts'
import type { ApiRequest, StreamRequest, Transport } from './transport.ts'

export interface ListOptions {
  /** All namespaces when undefined. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /** Objects per request; 500 by default. */
  readonly pageSize?: number
}

export interface PatchOptions {
  readonly name: string
  readonly namespace?: string | undefined
  readonly subresource?: 'status' | 'scale' | undefined
  /** RFC 7386 merge patch or RFC 6902 JSON patch. */
  readonly type: 'merge' | 'json'
  readonly body: unknown
}

export interface ApplyOptions {
  /** Owns the fields that are applied, e.g. `muster-clusterpool`. */
  readonly fieldManager: string
  /** Take fields from their owners. Never for fields that people own. */
  readonly force?: boolean
  readonly subresource?: 'status' | undefined
}

export interface DeleteOptions {
  /** Only the object with this uid, not a later one of the same name. */
  readonly uid?: string | undefined
  /** Only this state of the object. */
  readonly resourceVersion?: string | undefined
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined
}

/** What a caller writes: metadata needs a name; type and the rest are filled in by us and by the server. */
export type Desired<O extends KubeObject> = Omit<DeepPartial<O>, 'metadata'> & {
  readonly metadata: Partial<ObjectMeta> & { readonly name: string }
}

/**
 * Typed reads and writes of one cluster. Every method throws ApiError or NetworkError (client/errors.ts); what is said to
 * be missing or done below does not throw.
 */
export interface Api {
  readonly transport: Transport
  /** Undefined when there is none. */
  get<O extends KubeObject>(resource: Resource<O>, name: string, namespace?: string): Promise<O | undefined>
  /** Page by page, as fast as the consumer reads. Objects that change meanwhile may be seen in their old or new state. */
  list<O extends KubeObject>(resource: Resource<O>, options?: ListOptions): AsyncIterable<O>
  create<O extends KubeObject>(resource: Resource<O>, object: Desired<O>): Promise<O>
  /** PUT of the whole object; with a resourceVersion in it, it is refused (409) when the object has changed since. */
  replace<O extends KubeObject>(resource: Resource<O>, object: Desired<O>, subresource?: 'status'): Promise<O>
  patch<O extends KubeObject>(resource: Resource<O>, options: PatchOptions): Promise<O>
  /**
   * A merge patch of the state that was seen and of no other: it is refused (409, see `isConflict`) when another client has written
   * the object since, and when another object has its name. controller-runtime: MergeFromWithOptimisticLock. RUNTIME-21.
   */
  patchIfUnchanged<O extends KubeObject>(
    resource: Resource<O>,
    seen: SeenState,
    part: DeepPartial<O>,
    subresource?: 'status',
  ): Promise<O>
  /** Server-side apply: creates the object or changes the fields given. */
  apply<O extends KubeObject>(resource: Resource<O>, object: Desired<O>, options: ApplyOptions): Promise<O>
  /** Done as well when there is none. */
  delete<O extends KubeObject>(
    resource: Resource<O>,
    name: string,
    namespace?: string,
    options?: DeleteOptions,
  ): Promise<void>
  /**
   * The same Api, whose requests end when the signal aborts or the server is silent for longer than the timeout. A signal
   * is added to those that end its requests already; a timeout takes the place of the one before.
   */
  withLimits(limits: RequestLimits): Api
}

/** Which object in which state, such as the object itself. */
export interface SeenState {
  readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'resourceVersion'>
}

export interface RequestLimits {
  readonly signal?: AbortSignal
  readonly timeout?: Duration
}

/** A page of a list, as the API server sends it. */
export interface Page<O extends KubeObject> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: readonly O[]
}

const PATCH_TYPES = { merge: 'application/merge-patch+json', json: 'application/json-patch+json' } as const

export const createApi = (transport: Transport, { signal, timeout }: RequestLimits = {}): Api =>
  createLimitedApi(transport, signal === undefined ? [] : [signal], timeout)

/** Each request ends with the first of the signals. */
const createLimitedApi = (
  transport: Transport,
  signals: readonly AbortSignal[],
  timeout: Duration | undefined,
): Api => {
  const limited = limitTransport(transport, signals)
  const request = <T>(own: ApiRequest): Promise<T> => limited.request<T>({ ...own, timeout })

  const write = <O extends KubeObject>(
    method: 'POST' | 'PUT' | 'PATCH',
    path: string,
    body: unknown,
    rest: { contentType?: string; query?: Record<string, string | boolean | undefined> } = {},
  ): Promise<O> => request<O>({ method, path, body, ...rest })

  return {
    transport: limited,

    async get<O extends KubeObject>(resource: Resource<O>, name: string, namespace?: string) {
      try {
        return await request<O>({ method: 'GET', path: objectPath(resource, { name, namespace }) })
      } catch (error) {
        if (isNotFound(error)) return undefined
        throw error
      }
    },

    async *list<O extends KubeObject>(resource: Resource<O>, options: ListOptions = {}) {
      const { namespace, pageSize = 500, ...selectors } = options
      const path = pathOf(resource, { namespace })
      const limits = { size: pageSize }
      let token: string | undefined
      do {
        const query = { ...selectors, continue: token }
        try {
          const page = await readPageThatFits(limits, (limit) =>
            request<Page<O>>({ method: 'GET', path, query: { ...query, limit } }),
          )
          for (const item of page.items) yield { ...item, ...typeOf(resource) }
          token = page.metadata.continue
        } catch (error) {
          // The snapshot of the first page is gone. The server gives a token for the rest as it is now.
          if (!isExpired(error) || error.continueToken === undefined) throw error
          token = error.continueToken
        }
      } while (token)
    },

    create: (resource, object) =>
      write('POST', pathOf(resource, { namespace: namespaceOf(resource, object.metadata) }), {
        ...object,
        ...typeOf(resource),
      }),

    replace: (resource, object, subresource) =>
      write('PUT', objectPath(resource, { ...object.metadata, subresource }), { ...object, ...typeOf(resource) }),

    patch: (resource, { type, body, ...where }) =>
      write('PATCH', objectPath(resource, where), body, { contentType: PATCH_TYPES[type] }),

    patchIfUnchanged(resource, { metadata: { resourceVersion, ...where } }, part, subresource) {
      const body = { ...part, metadata: { ...part.metadata, resourceVersion } }
      return write('PATCH', objectPath(resource, { ...where, subresource }), body, { contentType: PATCH_TYPES.merge })
    },

    apply: (resource, object, { fieldManager, force, subresource }) =>
      write(
        'PATCH',
        objectPath(resource, { ...object.metadata, subresource }),
        { ...object, ...typeOf(resource) },
        {
          contentType: 'application/apply-patch+yaml', // JSON is YAML
          query: { fieldManager, force },
        },
      ),

    async delete(resource, name, namespace, { uid, resourceVersion, propagation } = {}) {
      const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
      const body = { preconditions, ...(propagation && { propagationPolicy: propagation }) }
      try {
        await request({ method: 'DELETE', path: objectPath(resource, { name, namespace }), body })
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    },

    withLimits: (narrower) =>
      createLimitedApi(
        transport,
        narrower.signal === undefined ? signals : [...signals, narrower.signal],
        narrower.timeout ?? timeout,
      ),
  }
}

/** Whatever is built on it ends with the signals too, such as requests in another account's name. RUNTIME-48. */
const limitTransport = (transport: Transport, signals: readonly AbortSignal[]): Transport =>
  signals.length === 0
    ? transport
    : {
        server: transport.server,
        async request<T>(own: ApiRequest) {
          if (signals.length === 1 && own.signal === undefined)
            return await transport.request<T>({ ...own, signal: signals[0] })
          using any = new AbortScope(...signals, own.signal)
          return await transport.request<T>({ ...own, signal: any.signal })
        },
        async *stream(own: StreamRequest) {
          using any = new AbortScope(...signals, own.signal)
          yield* transport.stream({ ...own, signal: any.signal })
        },
        close: () => transport.close(),
      }

const typeOf = (resource: Resource) => ({ apiVersion: apiVersionOf(resource), kind: resource.kind })

/** @throws TypeError for an empty name: its path would be that of the collection, and deleting it would delete everything there */
const objectPath = (resource: Resource, where: Location & { readonly name: string }): string => {
  if (where.name === '') throw new TypeError(`an empty name is no ${resource.kind}`)
  return pathOf(resource, { ...where, namespace: namespaceOf(resource, where) })
}

/** Without this check a forgotten namespace would read as an object that does not exist. */
const namespaceOf = ({ scope, kind }: Resource, { name, namespace }: Location): string | undefined => {
  if (scope === 'Namespaced' && namespace === undefined) throw new TypeError(`${kind} ${name} needs a namespace`)
  return namespace
}
