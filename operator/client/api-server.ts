import type { LookupFunction } from 'node:net'
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import type { PoolAnswer } from '#lib/http/exchange.ts'
import type { Clock } from '../model/clock.ts'
import { AnswerTooLargeError, readText } from './bounded-text.ts'
import { type Connections, connectionsTo } from './connections.ts'
import { type CredentialSource, type Credentials, credentialsOf } from './credentials.ts'
import { ApiError, NetworkError, type Status } from './errors.ts'
import { KubeConfigError } from './kubeconfig.ts'
import { Movement } from './moving.ts'

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** From the server's root, with each segment encoded: see `pathOf`. */
  readonly path: string
  /** Parameters that are undefined are left out. */
  readonly query?: Query
  /** Sent as JSON. */
  readonly body?: unknown
  /** Of the body; 'application/json' by default. */
  readonly contentType?: string
  /** Sent beside those that the transport sends; names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
  /** How long the server may be silent, in milliseconds. */
  readonly timeout: number
  /** Of the answer; by default what a list may take of the heap. */
  readonly maxBytes?: number
  /** Told the HTTP status of an answer that is no error. */
  readonly onStatus?: (status: number) => void
}

/** What `operator/metrics.ts` counts: one sample for each HTTP exchange, retries and watches included. */
export interface RequestMetrics {
  /** @param code the HTTP status, or '<error>' when there was no answer, as client-go has it */
  observe(sample: { readonly method: string; readonly host: string; readonly code: string }): void
}

export interface ApiServerOptions {
  readonly clock: Clock
  readonly metrics?: RequestMetrics
  readonly userAgent?: string
  /** Resolves the server's name where an author chose it; Node.js' own when undefined. */
  readonly lookup?: LookupFunction
}

/** The API server of a kubeconfig's current context, over pooled connections: a request is sent once. */
export class ApiServer {
  /** Without a trailing slash. */
  readonly url: string
  readonly #server: URL
  readonly #basePath: string
  readonly #options: ApiServerOptions
  readonly #credentials: CredentialSource
  readonly #connections: ReturnType<typeof connectionsTo>
  readonly #closed = new AbortController()

  /** @throws KubeConfigError */
  constructor(config: KubeConfig, options: ApiServerOptions) {
    const cluster = config.getCurrentCluster()
    if (cluster === null) throw new KubeConfigError('the kubeconfig has no current cluster: set its current-context')
    this.#server = new URL(cluster.server)
    this.#basePath = this.#server.pathname.replace(/\/$/, '')
    this.url = this.#server.origin + this.#basePath
    this.#options = options
    this.#credentials = credentialsOf(config, options.clock)
    this.#connections = connectionsTo(cluster.proxyUrl, options.lookup)
  }

  /**
   * Asks once more with new credentials when the server rejects the ones we had cached.
   * @returns an answer below 400 @throws ApiError for any other, NetworkError for none, the signal's reason when aborted
   */
  async send(pool: keyof Connections, request: HttpRequest): Promise<PoolAnswer> {
    const used = await this.#credentials.current()
    let answer = await this.#exchange(pool, request, used)
    if (answer.status === 401 && this.#credentials.refresh(used)) {
      answer.body.resume()
      answer = await this.#exchange(pool, request, await this.#credentials.current())
    }
    if (answer.status < 400) {
      request.onStatus?.(answer.status)
      return answer
    }
    const status = statusOf(await this.#readBody(request, answer), request, answer.status)
    throw new ApiError(status, retryAfterOf(answer.headers['retry-after'], this.#options.clock))
  }

  /** An answer's JSON, or its text when it isn't JSON. @throws NetworkError, AnswerTooLargeError */
  async read(request: HttpRequest, answer: PoolAnswer): Promise<unknown> {
    const text = await this.#readBody(request, answer)
    return String(answer.headers['content-type'] ?? '').includes('json') ? JSON.parse(text) : text
  }

  /** In which request the connection broke off. @throws the signal's reason when aborted */
  networkError({ method, path, signal }: HttpRequest, cause: unknown): NetworkError {
    signal?.throwIfAborted()
    return new NetworkError(`${method} ${this.url}${path}`, cause)
  }

  /** Cuts what is under way and gives the connections back. */
  async close(): Promise<void> {
    this.#closed.abort(new Error(`the connection to ${this.#server.origin} was closed`))
    this.#connections.close()
  }

  async #exchange(pool: keyof Connections, request: HttpRequest, { headers, tls }: Credentials) {
    const { method, path, query, body, contentType = 'application/json', headers: more, signal, timeout } = request
    const { metrics, userAgent = 'muster' } = this.#options
    const sample = { method, host: this.#server.host }
    signal?.throwIfAborted()
    this.#closed.signal.throwIfAborted()
    try {
      const answer = await this.#connections.over(tls)[pool].send({
        server: this.#server,
        path: this.#basePath + path + queryText(query),
        method,
        headers: {
          accept: 'application/json',
          'user-agent': userAgent,
          ...headers,
          ...more,
          ...(body === undefined ? {} : { 'content-type': contentType }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal,
        silence: { before: timeout, within: timeout },
      })
      metrics?.observe({ ...sample, code: String(answer.status) })
      return answer
    } catch (error) {
      signal?.throwIfAborted()
      metrics?.observe({ ...sample, code: '<error>' })
      throw this.networkError(request, error)
    }
  }

  async #readBody(request: HttpRequest, { body }: PoolAnswer): Promise<string> {
    try {
      return await readText(body, new Movement(this.#options.clock, request.timeout), request.maxBytes)
    } catch (error) {
      request.signal?.throwIfAborted()
      throw error instanceof AnswerTooLargeError ? error : this.networkError(request, error)
    }
  }
}

const queryText = (query: Query = {}): string => {
  const parameters = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.set(key, String(value))
  return parameters.size === 0 ? '' : `?${parameters.toString()}`
}

/** The Status in an error answer; one that names the request when a proxy in between answered something else. */
const statusOf = (text: string, { method, path }: HttpRequest, code: number): Status & { code: number } => {
  try {
    const status = JSON.parse(text) as Status
    if (status.kind === 'Status') return { ...status, code }
  } catch {
    // Not JSON: said below.
  }
  const excerpt = text.trim() === '' ? '' : `: ${text.trim().slice(0, 200)}`
  return { kind: 'Status', code, message: `${method} ${path} was answered with ${code}${excerpt}` }
}

/** Milliseconds of a Retry-After header: seconds or an HTTP date (RFC 9110). */
const retryAfterOf = (header: string | string[] | undefined, clock: Clock): number | undefined => {
  if (header === undefined) return undefined
  const text = String(header)
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - clock.now().getTime())
}
