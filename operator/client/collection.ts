import type { Duration } from '../model/duration.ts'
import { apiVersionOf, type KubeObject, pathOf, type Resource } from '../model/resource.ts'
import { isAtLeastAsNew } from '../model/resource-version.ts'
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
  readonly #selectors: Query
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
    const kind = { apiVersion: apiVersionOf(this.#resource), kind: this.#resource.kind }
    let token: string | undefined
    let resourceVersion: string | undefined
    do {
      const { items, metadata } = await this.#pageAfter(token)
      resourceVersion ??= metadata.resourceVersion
      yield { items: items.map((item) => ({ ...item, ...kind })), metadata: { ...metadata, resourceVersion } }
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
   * Is the server behind this version? Its data were restored from a backup, and a watch from the future would be accepted and stay
   * silent. The list is a consistent read, so a server that lags behind the others is not taken for one. RUNTIME-72.
   */
  async isServerBehind(resourceVersion: string): Promise<boolean> {
    const { metadata } = await this.#list({ limit: 1 })
    return !isAtLeastAsNew(metadata.resourceVersion, resourceVersion)
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
