/** Requests to a HyperFleet API, bounded in time and size; every error says which request failed. */

import type { LookupFunction } from 'node:net'
import { BASE_PATH } from '#apis/hyperfleet.redhat.com/base-path.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { namesBlockedAddress } from '#lib/egress/guarded-lookup.ts'
import type { PoolAnswer, PoolRequest } from '#lib/http/exchange.ts'
import { openPool } from '#lib/http/pool.ts'
import { readTextFile } from '#lib/read-text-file.ts'
import type { Clock } from '#operator/model/clock.ts'
import { HyperFleetError, reasonOfStatus } from './error.ts'

export interface HttpOptions {
  /** With or without a trailing slash. */
  readonly url: string
  /** Of one whole request, in milliseconds. */
  readonly timeout: number
  readonly userAgent: string
  /** A file with a bearer token, read for every request: tokens are rotated while this runs. */
  readonly tokenFile?: string | undefined
  /** A file with the authorities that the API’s certificate is of, PEM, read for each connection; those of the machine when undefined. */
  readonly caFile?: string | undefined
  readonly clock: Clock
  /** Resolves names where an author chose the URL, and no link-local address is asked; Node.js' own when undefined. */
  readonly lookup?: LookupFunction | undefined
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below the API's base path, with its query. */
  readonly path: string
  readonly accept: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export type HttpResponse = PoolAnswer

/** Every method throws HyperFleetError, or the signal's reason once that aborted. */
export interface Http {
  exchange<T>(request: HttpRequest, signal: AbortSignal, read: (response: HttpResponse) => Promise<T>): Promise<T>
  /** A response whose body may go on for ever, as long as no silence in it is longer than `silence` milliseconds. */
  open(request: HttpRequest, signal: AbortSignal, silence: number): Promise<HttpResponse>
  /** The error with the request in its sentence. @param timeout of what failed, in milliseconds */
  describeError(error: unknown, request: HttpRequest, timeout: number): HyperFleetError
  /** Resolves when what is under way has ended: each request by its signal or timeout. */
  close(): Promise<void>
}

/** A page has documents of 16 MiB at most (API-173), and a little around them. */
export const MAX_RESPONSE_BYTES = 17 * 1024 * 1024
/** Of an API's own words that an error repeats. */
const MAX_DETAIL_CHARS = 300

export const createHttp = ({ url, timeout, userAgent, tokenFile, caFile, clock, lookup }: HttpOptions): Http => {
  const base = new URL(url)
  const root = `${base.pathname.replace(/\/+$/, '')}${BASE_PATH}`
  const pool = openPool({ connections: 16, caFile, lookup })

  const send = async (request: HttpRequest, limits: Limits): Promise<HttpResponse> => {
    if (lookup !== undefined && namesBlockedAddress(base))
      throw new HyperFleetError('APIRefused', 'a link-local address, which is not allowed')
    const headers: Record<string, string> = { accept: request.accept, 'user-agent': userAgent, ...request.headers }
    if (tokenFile !== undefined) headers.authorization = `Bearer ${await readToken(tokenFile)}`
    const response = await pool.send({
      server: base,
      path: root + request.path,
      method: request.method,
      headers,
      body: request.body === undefined ? undefined : JSON.stringify(request.body),
      ...limits,
    })
    const { status } = response
    if (status < 300) return response
    const text = await readText(response).catch(() => '')
    const detail = status < 400 ? ': redirects are not followed, write the URL that it leads to' : describeProblem(text)
    throw new HyperFleetError(reasonOfStatus(status), `${status}${detail}`, {
      status,
      retryAfter: parseRetryAfter(response.headers['retry-after'], clock),
    })
  }

  const describeError: Http['describeError'] = (error, { method, path }, milliseconds) =>
    withRequest(error, `${method} ${base.origin}${root}${path}`, milliseconds)

  const withinLimits = async <T>(request: HttpRequest, signal: AbortSignal, run: () => Promise<T>): Promise<T> => {
    try {
      return await run()
    } catch (error) {
      signal.throwIfAborted()
      throw describeError(error, request, timeout)
    }
  }

  return {
    exchange: (request, signal, read) =>
      withinLimits(request, signal, async () => {
        signal.throwIfAborted()
        using limited = new AbortScope(signal).within(timeout)
        return await read(await send(request, { signal: limited.signal }))
      }),
    open: (request, signal, silence) =>
      withinLimits(request, signal, () => send(request, { signal, silence: { before: timeout, within: silence } })),
    describeError,
    close: () => pool.close(),
  }
}

type Limits = Pick<PoolRequest, 'signal' | 'silence'>

/** Decoded as it comes: joining the bytes first would take twice the memory, page after page. */
export const readText = async ({ body }: HttpResponse): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body as AsyncIterable<Buffer>) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > MAX_RESPONSE_BYTES)
      throw new HyperFleetError('APIMalformed', `the answer is larger than ${MAX_RESPONSE_BYTES} bytes`)
  }
  return text + decoder.decode()
}

export const readJson = async (response: HttpResponse): Promise<unknown> => JSON.parse(await readText(response))

/** Undefined for what is no JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const readToken = async (file: string): Promise<string> => {
  const token = (await readTextFile(file)).trim()
  if (token === '') throw new HyperFleetError('APIRefused', `the token file ${file} is empty`)
  return token
}

/** The sentence of a problem document (RFC 9457), else the first line of the body. */
const describeProblem = (text: string): string => {
  const problem = parseJson(text) as { detail?: unknown; title?: unknown } | null | undefined
  const sentence = problem?.detail ?? problem?.title ?? text.split('\n')[0]
  return typeof sentence === 'string' && sentence !== '' ? `: ${sentence.slice(0, MAX_DETAIL_CHARS)}` : ''
}

/**
 * Milliseconds of a Retry-After header: seconds or an HTTP date (RFC 9110). Undefined as well for a moment that has come,
 * maybe only by our clock: an API that refuses is not asked again without any rest.
 */
const parseRetryAfter = (header: string | string[] | undefined, clock: Clock): number | undefined => {
  if (header === undefined) return undefined
  const text = String(header)
  const rest = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - clock.now().getTime()
  return rest > 0 ? rest : undefined
}

/** The same error with the request in its sentence; anything that is no answer counts as unreachable. */
const withRequest = (error: unknown, request: string, timeout: number): HyperFleetError => {
  if (error instanceof HyperFleetError) {
    const { reason, status, retryAfter } = error
    return new HyperFleetError(reason, `${request}: ${error.message}`, {
      ...(status && { status }),
      retryAfter,
      cause: error,
    })
  }
  if (error instanceof SyntaxError)
    return new HyperFleetError('APIMalformed', `${request}: no JSON: ${error.message}`, { cause: error })
  const name = error instanceof Error ? error.name : ''
  const code = (error as { code?: string }).code ?? ''
  const detail =
    /Timeout/.test(name) || /TIMEOUT/.test(code) ? `no answer within ${timeout / 1_000} s` : messageOf(error)
  return new HyperFleetError('APIUnreachable', `${request}: ${detail}`, { cause: error })
}

const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
