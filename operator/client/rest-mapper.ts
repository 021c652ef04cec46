/** Which path an apiVersion and kind have on the API server. */
import { errorOf } from '#lib/errors/error-of.ts'
import { type Clock, monotonic } from '../model/clock.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'
import type { Resource } from '../model/resource.ts'
import { isNotFound } from './errors.ts'
import type { Transport } from './transport.ts'

/** For how long an answer of the API server is believed when a kind is not in it, in milliseconds: CRDs come while we run. */
const DISCOVERY_TTL_MS = 2_000

/** The API server has no such kind. */
export class UnknownKindError extends errorOf(OPERATOR_ERRORS, 'UnknownKindError') {
  constructor(apiVersion: string, kind: string) {
    super(
      `the API server has no kind ${kind} in ${apiVersion}: correct the manifest, or install its CustomResourceDefinition`,
    )
  }
}

interface Listing {
  readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
}

/** Kubernetes: APIGroup. */
interface GroupVersions {
  readonly versions: readonly { readonly groupVersion: string }[]
}

/** Kubernetes: APIVersions. */
interface CoreVersions {
  readonly versions: readonly string[]
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

  /**
   * The kind in the version that is named, or in another of its group when that one is served no longer: its objects are the same.
   * @throws UnknownKindError when the group serves it in no version, or what the API server failed with
   */
  async getServed(apiVersion: string, kind: string, signal: AbortSignal): Promise<Resource> {
    try {
      return await this.get(apiVersion, kind, signal)
    } catch (error) {
      if (!(error instanceof UnknownKindError)) throw error
      for (const other of await this.#versions(apiVersion, signal)) {
        if (other === apiVersion) continue
        const found = (await this.#ask(other, signal)).kinds.get(kind)
        if (found !== undefined) return found
      }
      throw error
    }
  }

  /** Asks anew from now on: an answer of the API server contradicts what was known. */
  forget(apiVersion: string): void {
    this.#known.delete(apiVersion)
  }

  /** apiVersions of the group, as they are served now, the preferred one first. */
  async #versions(apiVersion: string, signal: AbortSignal): Promise<readonly string[]> {
    const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : ''
    try {
      if (group === '') {
        const { versions } = await this.#transport.request<CoreVersions>({ method: 'GET', path: '/api', signal })
        return versions
      }
      const path = `/apis/${group}`
      const { versions } = await this.#transport.request<GroupVersions>({ method: 'GET', path, signal })
      return versions.map(({ groupVersion }) => groupVersion)
    } catch (error) {
      if (isNotFound(error)) return []
      throw error
    }
  }

  #read(apiVersion: string, signal: AbortSignal): Promise<Known> {
    const known = this.#known.get(apiVersion)
    if (known !== undefined) return known
    const reading = this.#ask(apiVersion, signal)
    this.#known.set(apiVersion, reading)
    reading.catch(() => {
      if (this.#known.get(apiVersion) === reading) this.#known.delete(apiVersion)
    })
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
