/** Sends a task's requests: rendered, authorised, tried again, and noted in the trace. */
import type { TracedRequest } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { Clock } from '#operator/model/clock.ts'
import { TaskError } from '../run/task-error.ts'
import type { ApiCall, Json, Retry, Scope } from '../task/task.ts'
import { apiPath } from './api-path.ts'
import { type BearerToken, NoTokenError } from './bearer-token.ts'
import type { HttpRequest, HttpResponse, RoundTrip } from './connection.ts'
import { isRetryable, retryDelay } from './retry.ts'

/** The answer to a request that was taken. */
export interface HttpResult {
  readonly status: number
  /** Parsed JSON, the text where it is none, null when it is empty. */
  readonly body: Json
  /** Entity tag of what was answered. */
  readonly etag: string | undefined
}

/** A request was refused, or got no answer. */
export class RequestError extends TaskError {
  /** Of the last answer; undefined when there was none. */
  readonly status: number | undefined
  /** `code` of the problem document in the answer. */
  readonly code: string | undefined
  /** Path or URL of the request. */
  readonly url: string
  constructor(
    message: string,
    {
      status,
      code,
      url,
      ...options
    }: ErrorOptions & { readonly status?: number; readonly code?: string; readonly url: string },
  ) {
    super('RequestFailed', message, options)
    this.name = 'RequestError'
    this.status = status
    this.code = code
    this.url = url
  }
}

/** How one try of a request ended. */
export interface RequestOutcome {
  readonly request: Pick<HttpRequest, 'method' | 'url'>
  /** Undefined when there was no answer. */
  readonly status: number | undefined
  /** Of the answer's problem document, or of the error. */
  readonly problem: string
  readonly error: unknown
}

export interface HttpClientOptions {
  readonly roundTrip: RoundTrip
  readonly clock: Clock
  /** Of one try where the task says nothing, in milliseconds. */
  readonly timeoutMs: number
  /** Sent with every request that has no Authorization of its own. */
  readonly token?: BearerToken | undefined
  /** Told how each try ended. */
  readonly onOutcome?: ((outcome: RequestOutcome) => void) | undefined
  /** In [0, 1). */
  readonly random?: () => number
  /** W3C Trace Context, sent along. */
  readonly traceparent?: string | undefined
  /** Told about every request, once. */
  readonly onRequest?: (request: TracedRequest) => void
}

export class HttpClient {
  readonly #options: HttpClientOptions
  constructor(options: HttpClientOptions) {
    this.#options = options
  }

  /** The same caller for one run: tells about its requests, and carries the trace that the event began. */
  withTracing(onRequest: (request: TracedRequest) => void, traceparent: string | undefined): HttpClient {
    return new HttpClient({ ...this.#options, onRequest, traceparent })
  }

  /** @throws TaskError from rendering, RequestError, or the signal's reason */
  async call({ method, url, headers, body, retry }: ApiCall, scope: Scope, signal: AbortSignal): Promise<HttpResult> {
    const rendered = headers.map(({ name, value }) => [name.toLowerCase(), value.render(scope)] as const)
    return this.send(
      {
        method,
        url: apiPath(url.render(scope)),
        headers: { ...(body && { 'content-type': 'application/json' }), ...Object.fromEntries(rendered) },
        body: body?.render(scope),
      },
      retry,
      signal,
    )
  }

  /** @throws RequestError, or the signal's reason */
  async send(request: HttpRequest, retry: Retry, signal: AbortSignal): Promise<HttpResult> {
    const { clock, random = Math.random, onRequest } = this.#options
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(request, retry, signal)
      const isLast = attempt >= retry.attempts || (outcome.answer !== undefined && !isRetryable(outcome.answer.status))
      if (isLast) {
        onRequest?.({ method: request.method, url: request.url, status: outcome.answer?.status, attempts: attempt })
        return toResult(request, outcome, attempt)
      }
      const retryAfterMs = parseRetryAfter(outcome.answer)
      await clock.sleep(Math.min(retryAfterMs ?? retryDelay(retry, attempt, random()), retry.maxDelayMs), signal)
      signal.throwIfAborted()
    }
  }

  async #attempt(request: HttpRequest, retry: Retry, signal: AbortSignal): Promise<Attempt> {
    const attempt = await this.#exchange(request, retry, signal)
    this.#options.onOutcome?.({
      request,
      status: attempt.answer?.status,
      problem: attempt.answer === undefined ? messageOf(attempt.error) : describeProblem(attempt.answer),
      error: attempt.error,
    })
    return attempt
  }

  async #exchange(request: HttpRequest, retry: Retry, signal: AbortSignal): Promise<Attempt> {
    const { roundTrip, timeoutMs, token, traceparent } = this.#options
    const headers: Record<string, string> = { ...request.headers }
    if (traceparent !== undefined) headers.traceparent = traceparent
    const send = (authorization: string | undefined) =>
      roundTrip(
        { ...request, headers: { ...headers, ...(authorization !== undefined && { authorization }) } },
        retry.timeoutMs ?? timeoutMs,
        signal,
      )
    try {
      if (token === undefined || headers.authorization !== undefined)
        return { answer: await send(undefined), error: undefined }
      const text = await token.read()
      const answer = await send(`Bearer ${text}`)
      // By the API's clock its time may be over already, or its keys are others by now.
      const isStale = answer.status === 401 && token.reject(text)
      return { answer: isStale ? await send(`Bearer ${await token.read()}`) : answer, error: undefined }
    } catch (error) {
      signal.throwIfAborted()
      return { answer: undefined, error }
    }
  }
}

type Attempt =
  | { readonly answer: HttpResponse; readonly error: undefined }
  | { readonly answer: undefined; readonly error: unknown }

const toResult = ({ method, url }: HttpRequest, { answer, error }: Attempt, attempts: number): HttpResult => {
  const tries = attempts === 1 ? '' : ` (${attempts} attempts)`
  if (answer === undefined) {
    const what = error instanceof NoTokenError ? 'was not sent' : 'got no answer'
    throw new RequestError(`${method} ${url} ${what}: ${messageOf(error)}${tries}`, { url, cause: error })
  }
  const body = parseBody(answer.text)
  const { etag, location } = answer.headers
  if (answer.status < 300) return { status: answer.status, body, etag: typeof etag === 'string' ? etag : undefined }
  if (answer.status < 400)
    throw new RequestError(
      `${method} ${url} was answered with ${answer.status}${describeRedirect(location, url)}: redirects are not followed, write the URL that it leads to`,
      { status: answer.status, url },
    )
  const problem = problemIn(body)
  const statement = statementIn(problem)
  const detail = statement === '' ? '' : `: ${statement}`
  throw new RequestError(`${method} ${url} was answered with ${answer.status}${detail}${tries}`, {
    status: answer.status,
    url,
    ...(typeof problem.code === 'string' && { code: problem.code }),
  })
}

const problemIn = (body: Json): Record<string, unknown> =>
  (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>

/** RFC 9457, or the Go service's words. */
const statementIn = ({ detail, reason, title }: Record<string, unknown>): string => {
  const statement = detail ?? reason ?? title ?? ''
  return typeof statement === 'string' ? statement.slice(0, MAX_STATEMENT_CHARS) : ''
}

const MAX_STATEMENT_CHARS = 300

const describeProblem = ({ status, text }: HttpResponse): string =>
  status < 400 ? '' : statementIn(problemIn(parseBody(text))) || `the HyperFleet API answers ${status}`

/** Where a redirect leads, without its query, which may be secret. */
const describeRedirect = (location: string | string[] | undefined, from: string): string => {
  const url = typeof location === 'string' ? URL.parse(location, new URL(from, 'http://api').href) : null
  return url === null ? '' : ` to ${url.origin}${url.pathname}`
}

const parseBody = (text: string): Json => {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** Milliseconds of a Retry-After header in seconds. */
const parseRetryAfter = (answer: HttpResponse | undefined): number | undefined => {
  const header = answer?.headers['retry-after']
  return typeof header === 'string' && /^\d+$/.test(header) ? Number(header) * 1_000 : undefined
}

const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
