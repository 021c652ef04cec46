/** Sends a task's requests: rendered, authorised, tried again, and noted in the trace. */
import { readFile } from 'node:fs/promises'
import type { TracedRequest } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { Clock } from '#operator/model/clock.ts'
import { TaskError } from '../run/task-error.ts'
import type { ApiCall, Json, Retry, Scope } from '../task/task.ts'
import { apiPath } from './api-path.ts'
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

export interface HttpClientOptions {
  readonly roundTrip: RoundTrip
  readonly clock: Clock
  /** Of one try where the task says nothing, in milliseconds. */
  readonly timeoutMs: number
  /** A file with the bearer token, read for every request: tokens are rotated under us. */
  readonly tokenFile?: string | undefined
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
    const { roundTrip, timeoutMs, tokenFile, traceparent } = this.#options
    try {
      const headers: Record<string, string> = { ...request.headers }
      if (traceparent !== undefined) headers.traceparent = traceparent
      if (tokenFile !== undefined) headers.authorization ??= `Bearer ${await readToken(tokenFile)}`
      const sent = { ...request, headers }
      return { answer: await roundTrip(sent, retry.timeoutMs ?? timeoutMs, signal), error: undefined }
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
  if (answer === undefined)
    throw new RequestError(`${method} ${url} got no answer: ${messageOf(error)}${tries}`, { url, cause: error })
  const body = parseBody(answer.text)
  const { etag, location } = answer.headers
  if (answer.status < 300) return { status: answer.status, body, etag: typeof etag === 'string' ? etag : undefined }
  if (answer.status < 400)
    throw new RequestError(
      `${method} ${url} was answered with ${answer.status}${describeRedirect(location, url)}: redirects are not followed, write the URL that it leads to`,
      { status: answer.status, url },
    )
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const statement = problem.detail ?? problem.reason ?? problem.title ?? ''
  const detail = typeof statement === 'string' && statement !== '' ? `: ${statement.slice(0, 300)}` : ''
  throw new RequestError(`${method} ${url} was answered with ${answer.status}${detail}${tries}`, {
    status: answer.status,
    url,
    ...(typeof problem.code === 'string' && { code: problem.code }),
  })
}

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

const readToken = async (file: string): Promise<string> => {
  const token = (await readFile(file, 'utf8')).trim()
  if (token === '') throw new Error(`the token file ${file} is empty`)
  return token
}

const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
