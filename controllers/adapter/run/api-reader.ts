/** The API as one run sees it: the resource of the event is read once, and all of the run speaks of that state of it. */
import { apiPath } from '../http/api-path.ts'
import { type HttpClient, type HttpResult, RequestError } from '../http/client.ts'
import type { ApiCall, JsonObject, Retry, Scope } from '../task/task.ts'

/** The resource is gone, or its labels are not those that the task selects: nothing is done and nothing reported. ADAPTER-12. */
export class NothingToDoError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'NothingToDoError'
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

export class ApiReader {
  readonly #caller: HttpClient
  /** Path of the resource; undefined when the event does not say. */
  readonly #resourcePath: string | undefined
  #resourceResponse: HttpResult | undefined

  constructor(caller: HttpClient, href: string | undefined) {
    this.#caller = caller
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
      if (isGone(error)) throw new NothingToDoError(`the resource is gone: ${error.message}`, { cause: error })
      throw error
    }
    const { body } = this.#resourceResponse
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as JsonObject) : {}
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
