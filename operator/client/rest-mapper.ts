/** Which path an apiVersion and kind have on the API server. */
import { type Clock, monotonic } from '../model/clock.ts'
import type { Resource } from '../model/resource.ts'
import { isNotFound } from './errors.ts'
import type { Transport } from './transport.ts'

/** For how long an answer of the API server is believed when a kind is not in it, in milliseconds: CRDs come while we run. */
const DISCOVERY_TTL_MS = 2_000

/** The API server has no such kind. */
export class UnknownKindError extends Error {
  constructor(apiVersion: string, kind: string) {
    super(
      `the API server has no kind ${kind} in ${apiVersion}: correct the manifest, or install its CustomResourceDefinition`,
    )
    this.name = 'UnknownKindError'
  }
}

interface Listing {
  readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
}

interface Known {
  readonly kinds: ReadonlyMap<string, Resource>
  readonly at: number
}

/** Asks once for each apiVersion, and again when a kind is missing. Kubernetes: API discovery. */
export class RestMapper {
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #known = new Map<string, Promise<Known>>()

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport
    this.#clock = clock
  }

  /** @throws UnknownKindError, or what the API server failed with */
  async get(apiVersion: string, kind: string, signal: AbortSignal): Promise<Resource> {
    const known = await this.#read(apiVersion, signal)
    const found = known.kinds.get(kind)
    if (found !== undefined) return found
    if (monotonic(this.#clock) - known.at >= DISCOVERY_TTL_MS) {
      this.#known.delete(apiVersion)
      const again = (await this.#read(apiVersion, signal)).kinds.get(kind)
      if (again !== undefined) return again
    }
    throw new UnknownKindError(apiVersion, kind)
  }

  #read(apiVersion: string, signal: AbortSignal): Promise<Known> {
    const known = this.#known.get(apiVersion)
    if (known !== undefined) return known
    const reading = this.#ask(apiVersion, signal)
    this.#known.set(apiVersion, reading)
    reading.catch(() => this.#known.delete(apiVersion))
    return reading
  }

  async #ask(apiVersion: string, signal: AbortSignal): Promise<Known> {
    const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    const at = monotonic(this.#clock)
    try {
      const { resources } = await this.#transport.request<Listing>({ method: 'GET', path, signal })
      const own = resources.filter(({ name }) => !name.includes('/'))
      const kinds = own.map(({ name, kind, namespaced }): [string, Resource] => [
        kind,
        { group, version, plural: name, kind, scope: namespaced ? 'Namespaced' : 'Cluster', subresources: [] },
      ])
      return { kinds: new Map(kinds), at }
    } catch (error) {
      if (isNotFound(error)) return { kinds: new Map(), at }
      throw error
    }
  }
}
