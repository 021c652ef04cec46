import type { LookupFunction } from 'node:net'
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import type { Dispatcher } from 'undici'
import { type Clock, monotonic, systemClock } from '../model/clock.ts'
import { type Duration, toMilliseconds } from '../model/duration.ts'
import { AnswerTooLargeError, readText } from './bounded-text.ts'
import { type Connections, connectionsTo } from './connections.ts'
import { type Credentials, credentialsOf } from './credentials.ts'
import { ApiError, NetworkError, type Status } from './errors.ts'
import { KubeConfigError, type KubeConfigSource, loadKubeConfig } from './kubeconfig.ts'
import { moving } from './moving.ts'
import { lines } from './split-lines.ts'

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface ApiRequest {
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
  /** How long the server may be silent, and how long Retry-After answers may make us wait in all. Default 30 s. */
  readonly timeout?: Duration | undefined
}

export interface StreamRequest {
  readonly path: string
  readonly query?: Query
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
  /** The stream fails with NetworkError UND_ERR_BODY_TIMEOUT when no byte came for so long. Default 70 s. */
  readonly inactivityTimeout?: Duration | undefined
  /** The server has accepted it; lines may follow much later. */
  readonly onOpen?: (() => void) | undefined
  /** More of a line has come that is not complete. */
  readonly onPart?: (() => void) | undefined
}

/** HTTP/1.1 over pooled connections to one API server, with the credentials of a kubeconfig. */
export interface Transport {
  /** The server's URL without a trailing slash. */
  readonly server: string
  /**
   * One request and its parsed JSON answer (or its text, when it isn't JSON). An answer 429 or 503 with Retry-After is
   * tried again after that time.
   * @throws ApiError for an error answer, NetworkError for none, the signal's reason when aborted
   */
  request<T>(request: ApiRequest): Promise<T>
  /** A watch: its lines, each one JSON value, without the newline. Ends when the server ends it. @throws as `request` */
  stream(request: StreamRequest): AsyncIterable<Buffer>
  /** Cuts streams and requests and gives the connections back. */
  close(): Promise<void>
}

/** What `operator/metrics.ts` counts: one sample for each HTTP exchange, retries and watches included. */
export interface RequestMetrics {
  /** @param code the HTTP status, or '<error>' when there was no answer, as client-go has it */
  observe(sample: { readonly method: string; readonly host: string; readonly code: string }): void
}

export interface TransportOptions {
  readonly clock?: Clock
  readonly metrics?: RequestMetrics
  readonly userAgent?: string
  /** Resolves the server's name where an author chose it; Node.js' own when undefined. */
  readonly lookup?: LookupFunction
}

/** A transport to the cluster that the source names. @throws KubeConfigError */
export const loadTransport = async (options: KubeConfigSource & TransportOptions = {}): Promise<Transport> =>
  createTransport(loadKubeConfig(options), options)

const REQUEST_TIMEOUT = '30s'
/** A Retry-After of no time, or of a moment that has come by our clock, must not make a flood. Milliseconds. */
const MIN_RETRY_DELAY_MS = 100
/** The API server sends a bookmark about once a minute on a quiet watch; a dead one is noticed soon after. */
const INACTIVITY_TIMEOUT = '70s'

export const createTransport = (config: KubeConfig, options: TransportOptions = {}): Transport => {
  const { clock = systemClock, metrics, userAgent = 'muster', lookup } = options
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new KubeConfigError('the kubeconfig has no current cluster: set its current-context')
  const server = new URL(cluster.server)
  const basePath = server.pathname.replace(/\/$/, '')
  const credentials = credentialsOf(config, clock)
  const connections = connectionsTo(cluster.proxyUrl, lookup)
  const closed = new AbortController()

  /** One exchange. Asks once more with new credentials when the server rejects the ones we had cached. */
  const exchange = async (pool: keyof Connections, request: Exchange): Promise<Dispatcher.ResponseData> => {
    const used = await credentials.current()
    const answer = await send(pool, request, used)
    if (answer.statusCode !== 401 || !credentials.refresh(used)) return answer
    await answer.body.dump()
    return send(pool, request, await credentials.current())
  }

  const send = async (pool: keyof Connections, request: Exchange, { headers, tls }: Credentials) => {
    const { method, path, query, body, contentType = 'application/json', headers: more, signal, timeout } = request
    const sample = { method, host: server.host }
    signal?.throwIfAborted()
    closed.signal.throwIfAborted()
    try {
      const answer = await connections.over(tls)[pool].request({
        origin: server.origin,
        path: basePath + path + queryText(query),
        method,
        headers: {
          accept: 'application/json',
          'user-agent': userAgent,
          ...headers,
          ...more,
          ...(body === undefined ? {} : { 'content-type': contentType }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
        headersTimeout: timeout,
        bodyTimeout: timeout,
      })
      metrics?.observe({ ...sample, code: String(answer.statusCode) })
      return answer
    } catch (error) {
      signal?.throwIfAborted()
      metrics?.observe({ ...sample, code: '<error>' })
      throw new NetworkError(`${method} ${server.origin}${basePath}${path}`, error)
    }
  }

  /** Reads a body, or says in which request it broke off. */
  const read = async <T>({ method, path, signal }: Exchange, reading: () => Promise<T>): Promise<T> => {
    try {
      return await reading()
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof AnswerTooLargeError) throw error
      throw new NetworkError(`${method} ${server.origin}${basePath}${path}`, error)
    }
  }

  const textOf = ({ timeout }: Exchange, { body }: Dispatcher.ResponseData): Promise<string> =>
    readText(moving(body, clock, timeout))

  const errorOf = async (request: Exchange, answer: Dispatcher.ResponseData): Promise<ApiError> => {
    const text = await read(request, () => textOf(request, answer))
    return new ApiError(statusOf(text, request, answer.statusCode), retryAfterOf(answer.headers['retry-after'], clock))
  }

  return {
    server: server.origin + basePath,

    async request<T>({ timeout = REQUEST_TIMEOUT, ...rest }: ApiRequest): Promise<T> {
      const request = { ...rest, timeout: toMilliseconds(timeout) }
      const deadline = monotonic(clock) + request.timeout
      for (;;) {
        const answer = await exchange('requests', request)
        if (answer.statusCode < 400) return parse(await read(request, () => textOf(request, answer)), answer) as T
        const error = await errorOf(request, answer)
        if (!asksForRetry(error) || monotonic(clock) + error.retryAfter > deadline) throw error
        await clock.sleep(Math.max(MIN_RETRY_DELAY_MS, error.retryAfter), request.signal)
      }
    },

    async *stream({ inactivityTimeout = INACTIVITY_TIMEOUT, onOpen, onPart, ...rest }: StreamRequest) {
      const request = { ...rest, method: 'GET' as const, timeout: toMilliseconds(inactivityTimeout) }
      const answer = await exchange('streams', request)
      if (answer.statusCode >= 400) throw await errorOf(request, answer)
      onOpen?.()
      // A consumer that stops early destroys the body, which then emits an abort error of no meaning.
      answer.body.on('error', () => {})
      try {
        yield* lines(moving(answer.body, clock, request.timeout), onPart)
      } catch (error) {
        request.signal?.throwIfAborted()
        throw new NetworkError(`GET ${server.origin}${basePath}${request.path}`, error)
      } finally {
        answer.body.destroy()
      }
    },

    async close() {
      closed.abort(new Error(`the connection to ${server.origin} was closed`))
      await connections.close()
    },
  }
}

/** A request with its timeout in milliseconds. */
interface Exchange extends Omit<ApiRequest, 'timeout'> {
  readonly timeout: number
}

const queryText = (query: Query = {}): string => {
  const parameters = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.set(key, String(value))
  return parameters.size === 0 ? '' : `?${parameters.toString()}`
}

const parse = (text: string, { headers }: Dispatcher.ResponseData): unknown =>
  String(headers['content-type'] ?? '').includes('json') ? JSON.parse(text) : text

/** The Status in an error answer; one that names the request when a proxy in between answered something else. */
const statusOf = (text: string, { method, path }: Exchange, code: number): Status & { code: number } => {
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

/** The server did nothing yet and says when to come back: safe to repeat with any method. */
const asksForRetry = (error: ApiError): error is ApiError & { readonly retryAfter: number } =>
  (error.status === 429 || error.status === 503) && error.retryAfter !== undefined
