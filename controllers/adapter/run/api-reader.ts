/** The API as one run sees it: the resource of the event is read once, and all of the run speaks of that state of it. */
import { apiPath } from '../http/api-path.ts'
import { type Caller, RequestError, type Taken } from '../http/client.ts'
import type { ApiCall, JsonObject, Retry, Scope } from '../task/task.ts'

/** There is nothing to do for the resource, and nothing to report: it is not there any more, or not the task's. */
export class NoConcernError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'NoConcernError'
  }
}

/** How the API says that no such URL exists at all, as opposed to a resource that is gone. The peer's code. */
const NO_SUCH_ROUTE = 'HYPERFLEET-NTF-000'

const RETRY: Retry = { attempts: 3, backoff: 'exponential', baseDelay: 1_000, maxDelay: 30_000, timeout: undefined }

export const isGone = (error: unknown): error is RequestError =>
  error instanceof RequestError && error.status === 404 && error.code !== NO_SUCH_ROUTE

export class ApiReader {
  readonly #caller: Caller
  /** Path of the resource; undefined when the event does not say. */
  readonly #own: string | undefined
  #read: Taken | undefined

  constructor(caller: Caller, href: string | undefined) {
    this.#caller = caller
    this.#own = href === undefined ? undefined : apiPath(href)
  }

  /** Path of the resource on the API. */
  get path(): string | undefined {
    return this.#own
  }

  /** The resource of the event; undefined when it does not say where it is. @throws NoConcernError, RequestError */
  async resource(signal: AbortSignal): Promise<JsonObject | undefined> {
    if (this.#own === undefined) return undefined
    try {
      const request = { method: 'GET', url: this.#own, headers: {}, body: undefined } as const
      this.#read ??= await this.#caller.send(request, RETRY, signal)
    } catch (error) {
      if (isGone(error)) throw new NoConcernError(`the resource is gone: ${error.message}`, { cause: error })
      throw error
    }
    const { body } = this.#read
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as JsonObject) : {}
  }

  /** A request of the task. @throws TaskError */
  async call(call: ApiCall, scope: Scope, signal: AbortSignal): Promise<Taken> {
    if (this.#read !== undefined && call.method === 'GET' && apiPath(call.url.render(scope)) === this.#own)
      return this.#read
    return this.#caller.call(call, scope, signal)
  }

  /** Sends the standard report. @throws RequestError */
  async report(body: JsonObject, signal: AbortSignal): Promise<Taken> {
    const headers = { 'content-type': 'application/json' }
    const url = `${this.#own}/statuses`
    return this.#caller.send({ method: 'PUT', url, headers, body: JSON.stringify(body) }, RETRY, signal)
  }
}
