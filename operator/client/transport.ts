import type { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { type Clock, monotonic, systemClock } from '../model/clock.ts'
import { type Duration, toMilliseconds } from '../model/duration.ts'
import { ApiServer, type ApiServerOptions, type HttpRequest } from './api-server.ts'
import { ApiError } from './errors.ts'
import { type KubeConfigSource, loadKubeConfig } from './kubeconfig.ts'
import { Movement, moving } from './moving.ts'
import { lines } from './split-lines.ts'

export interface ApiRequest extends Omit<HttpRequest, 'timeout'> {
  /** How long the server may be silent, and how long Retry-After answers may make us wait in all. Default 30 s. */
  readonly timeout?: Duration | undefined
}

export interface StreamRequest extends Pick<HttpRequest, 'path' | 'query' | 'headers' | 'signal'> {
  /** The stream fails with NetworkError BODY_TIMEOUT when no byte came for so long. Default 70 s. */
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

export interface TransportOptions extends Omit<ApiServerOptions, 'clock'> {
  readonly clock?: Clock
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
  const { clock = systemClock } = options
  const server = new ApiServer(config, { ...options, clock })
  return {
    server: server.url,

    async request<T>({ timeout = REQUEST_TIMEOUT, ...rest }: ApiRequest): Promise<T> {
      const request = { ...rest, timeout: toMilliseconds(timeout) }
      const deadline = monotonic(clock) + request.timeout
      for (;;) {
        try {
          return (await server.read(request, await server.send('requests', request))) as T
        } catch (error) {
          if (!asksForRetry(error) || monotonic(clock) + error.retryAfter > deadline) throw error
          await clock.sleep(Math.max(MIN_RETRY_DELAY_MS, error.retryAfter), request.signal)
        }
      }
    },

    async *stream({ inactivityTimeout = INACTIVITY_TIMEOUT, onOpen, onPart, ...rest }: StreamRequest) {
      const request = { ...rest, method: 'GET' as const, timeout: toMilliseconds(inactivityTimeout) }
      const { body } = await server.send('streams', request)
      onOpen?.()
      // A consumer that stops early destroys the body, which then emits an abort error of no meaning.
      body.on('error', () => {})
      try {
        yield* lines(moving(body, new Movement(clock, request.timeout)), onPart)
      } catch (error) {
        throw server.networkError(request, error)
      } finally {
        body.destroy()
      }
    },

    close: () => server.close(),
  }
}

/** The server did nothing yet and says when to come back: safe to repeat with any method. */
const asksForRetry = (error: unknown): error is ApiError & { readonly retryAfter: number } =>
  error instanceof ApiError && (error.status === 429 || error.status === 503) && error.retryAfter !== undefined
