import type { Duration } from '../model/duration.ts'
import { apiVersionOf, type KubeObject, type ObjectMeta, pathOf, type Resource } from '../model/resource.ts'
import type { Page } from './api.ts'
import type { Query } from './api-server.ts'
import { readPageThatFits } from './bounded-text.ts'
import { isExpired } from './errors.ts'
import type { StreamRequest, Transport } from './transport.ts'

const PAGE_SIZE = 500

/** Which objects of a kind are listed and watched. */
export interface Selection {
  /** All namespaces when undefined. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
}

export interface CollectionOptions extends Selection {
  readonly inactivityTimeout?: Duration | undefined
  readonly signal: AbortSignal
}

/** The requests by which a reflector lists and watches objects. All throw as the transport does. */
export class Collection<O extends KubeObject> {
  readonly #transport: Transport
  readonly #resource: Resource<O>
  readonly #path: string
  readonly #selectors: Pick<Selection, 'labelSelector' | 'fieldSelector'>
  readonly #options: CollectionOptions
  /** Smaller once a page was too large. */
  readonly #page = { size: PAGE_SIZE }

  constructor(transport: Transport, resource: Resource<O>, options: CollectionOptions) {
    const { namespace, labelSelector, fieldSelector } = options
    this.#transport = transport
    this.#resource = resource
    this.#options = options
    this.#path = pathOf(resource, { namespace })
    this.#selectors = { labelSelector, fieldSelector }
  }

  /**
   * The list, page after page. Once the server has forgotten the state of the first page, the others show what is true later. All
   * have the resourceVersion of the first: a watch from there tells what changed meanwhile. RUNTIME-75.
   */
  async *pages(): AsyncGenerator<Page<O>> {
    let token: string | undefined
    let resourceVersion: string | undefined
    do {
      const { items, metadata } = await this.#pageAfter(token)
      resourceVersion ??= metadata.resourceVersion
      yield { items: items.map((item) => this.#whole(item)), metadata: { ...metadata, resourceVersion } }
      token = metadata.continue
    } while (token)
  }

  /** The lines of a watch. */
  watch(query: Query, request: Pick<StreamRequest, 'signal' | 'onOpen' | 'onPart'>): AsyncIterable<Buffer> {
    const { inactivityTimeout } = this.#options
    return this.#transport.stream({
      ...request,
      path: this.#path,
      query: { ...this.#selectors, ...query },
      inactivityTimeout,
    })
  }

  /**
   * The newest version that the server has, and an object as it is there. That it is a list makes it a consistent read, so that a
   * server that lags behind the others tells of now. RUNTIME-72.
   */
  async findNow(
    object: Pick<ObjectMeta, 'name' | 'namespace'> | undefined,
  ): Promise<{ readonly version: string; readonly found: O | undefined }> {
    const { items, metadata } = await this.#list(object === undefined ? { limit: 1 } : this.#only(object))
    const [found] = items
    return {
      version: metadata.resourceVersion,
      found: object === undefined || found === undefined ? undefined : this.#whole(found),
    }
  }

  #only({ name, namespace }: Pick<ObjectMeta, 'name' | 'namespace'>): Query {
    const { fieldSelector } = this.#selectors
    const fields = [
      ...(fieldSelector === undefined ? [] : [fieldSelector]),
      ...(namespace === undefined ? [] : [`metadata.namespace=${namespace}`]),
      `metadata.name=${name}`,
    ]
    return { fieldSelector: fields.join(',') }
  }

  /** Items of a list don't say their kind. */
  #whole(item: O): O {
    return { ...item, apiVersion: apiVersionOf(this.#resource), kind: this.#resource.kind }
  }

  async #pageAfter(token: string | undefined): Promise<Page<O>> {
    const read = (from: string | undefined) =>
      readPageThatFits(this.#page, (limit) => this.#list({ continue: from, limit }))
    try {
      return await read(token)
    } catch (error) {
      // The server gives a token for the rest as it is now.
      if (!isExpired(error) || error.continueToken === undefined) throw error
      return await read(error.continueToken)
    }
  }

  #list(query: Query): Promise<Page<O>> {
    const { signal } = this.#options
    return this.#transport.request({ method: 'GET', path: this.#path, query: { ...this.#selectors, ...query }, signal })
  }
}
