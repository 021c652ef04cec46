/** The API as one run sees it: the resource of the event is read once, and all of the run speaks of that state of it. */

import { errorOf } from '#lib/errors/error-of.ts'
import { isObject } from '#lib/json/is-object.ts'
import { ADAPTER_ERRORS } from '../errors.ts'
import { apiPath } from '../http/api-path.ts'
import { type HttpClient, type HttpResult, RequestError } from '../http/client.ts'
import type { ApiCall, Json, JsonObject, Retry, Scope } from '../task/task.ts'

/**
 * Why a run applies and reports nothing: the API says that the resource is gone; something answers 404 that does not say so as a
 * HyperFleet API does (`absent`), on whose word nothing is taken away; the task does not select it; or the event is about another one.
 */
export type Absence = 'gone' | 'absent' | 'unselected' | 'mismatch'

/** The run is no business of the task, or no longer: nothing is applied and nothing reported. ADAPTER-12. */
export class NothingToDoError extends errorOf(ADAPTER_ERRORS, 'NothingToDoError') {
  readonly absence: Absence
  constructor(message: string, absence: Absence, options?: ErrorOptions) {
    super(message, options)
    this.absence = absence
  }
}

/** How the API says that no such URL exists at all, as opposed to a resource that is gone. The Go API's code. ADAPTER-7. */
const UNKNOWN_ROUTE_CODE = 'HYPERFLEET-NTF-000'

const DEFAULT_RETRY: Retry = {
  attempts: 3,
  backoff: 'exponential',
  baseDelayMs: 1_000,
  maxDelayMs: 30_000,
  timeoutMs: undefined,
}

export const isGone = (error: unknown): error is RequestError =>
  error instanceof RequestError && error.status === 404 && error.code !== UNKNOWN_ROUTE_CODE

/** Only a HyperFleet API knows: a proxy that has lost its way answers 404 to everything, and nothing is deleted because of that. */
const PROBLEM_CODE = /^hyperfleet-/i

export const absenceOf = (error: RequestError): Absence =>
  error.code !== undefined && PROBLEM_CODE.test(error.code) ? 'gone' : 'absent'

const isResource = (body: Json): body is JsonObject & { readonly id: string } =>
  isObject(body) && typeof (body as JsonObject).id === 'string'

export class ApiReader {
  readonly #caller: HttpClient
  /** Path of the resource; undefined when the event does not say. */
  readonly #resourcePath: string | undefined
  /** Id of the resource. */
  readonly #id: string
  #resourceResponse: HttpResult | undefined

  constructor(caller: HttpClient, href: string | undefined, id: string) {
    this.#caller = caller
    this.#id = id
    this.#resourcePath = href === undefined ? undefined : apiPath(href)
  }

  /** Path of the resource on the API. */
  get path(): string | undefined {
    return this.#resourcePath
  }

  /** The resource of the event; undefined when it does not say where it is. @throws NothingToDoError, RequestError */
  async resource(signal: AbortSignal): Promise<JsonObject | undefined> {
    if (this.#resourcePath === undefined) return undefined
    try {
      const request = { method: 'GET', url: this.#resourcePath, headers: {}, body: undefined } as const
      this.#resourceResponse ??= await this.#caller.send(request, DEFAULT_RETRY, signal)
    } catch (error) {
      if (isGone(error))
        throw new NothingToDoError(`the resource is gone: ${error.message}`, absenceOf(error), { cause: error })
      throw error
    }
    const { body } = this.#resourceResponse
    if (isResource(body)) return body
    // A page to sign in or a proxy's own words, with 200: nothing is known of the resource, so nothing may follow from it.
    this.#resourceResponse = undefined
    const url = this.#resourcePath
    throw new RequestError(`GET ${url}: what was answered is no resource, it has no id`, { url })
  }

  /** Whether the error says that the resource itself is gone, and not something else that the task asked for: ADAPTER-7. */
  isResourceGone(error: unknown): error is RequestError {
    if (!isGone(error)) return false
    const path = apiPath(error.url).replace(/\/statuses\/?$/, '')
    return this.#resourcePath === undefined ? path.endsWith(`/${this.#id}`) : path === this.#resourcePath
  }

  /** A request of the task. @throws TaskError */
  async call(call: ApiCall, scope: Scope, signal: AbortSignal): Promise<HttpResult> {
    if (
      this.#resourceResponse !== undefined &&
      call.method === 'GET' &&
      apiPath(call.url.render(scope)) === this.#resourcePath
    )
      return this.#resourceResponse
    return this.#caller.call(call, scope, signal)
  }

  /** Sends the standard report. @throws RequestError */
  async report(body: JsonObject, signal: AbortSignal): Promise<HttpResult> {
    const headers = { 'content-type': 'application/json' }
    const url = `${this.#resourcePath}/statuses`
    return this.#caller.send({ method: 'PUT', url, headers, body: JSON.stringify(body) }, DEFAULT_RETRY, signal)
  }
}
