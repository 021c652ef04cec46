/** Requests by HTTP/1.1 over connections that are used again: Node's own client, which parses answers outside of JavaScript. Why: docs/decisions/http-client.md. */
import {
  type AgentOptions,
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as overHttp,
} from 'node:http'
import { Agent as HttpsAgent, request as overHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { AuthoritiesAgent } from './authorities-agent.ts'
import { type ExchangeEnd, HttpTimeout } from './http-timeout.ts'

export interface PoolOptions {
  /** To one server at a time; requests beyond them wait. Without a limit when undefined. */
  readonly connections?: number
  /** Of TLS. */
  readonly tls?: ConnectionOptions
  /** A file with the authorities that servers are known by, PEM, read for each connection; those of `tls` when undefined. */
  readonly caFile?: string | undefined
  /** Resolves names; Node.js' own when undefined. */
  readonly lookup?: LookupFunction | undefined
  /** An HTTP proxy that all goes through. */
  readonly proxyUrl?: string | undefined
  /** How long an unused connection stays open, in milliseconds. Default 4 s. */
  readonly keepAlive?: number
}

export interface PoolRequest {
  readonly server: URL
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** How long the server may be silent before it answers, and then within the answer, in milliseconds. Without a limit when undefined. */
  readonly silence?: { readonly before: number; readonly within: number }
}

export interface PoolAnswer {
  readonly status: number
  /** By names in lower case. */
  readonly headers: IncomingHttpHeaders
  /** To be read to its end or destroyed: its connection waits for that. */
  readonly body: IncomingMessage
}

export interface Pool {
  /** @throws what broke the connection, HttpTimeout, or what the signal was aborted with; so does reading the body */
  send(request: PoolRequest): Promise<PoolAnswer>
  /** Lets what is under way end, and closes all connections. */
  close(): Promise<void>
  /** Cuts all connections. */
  destroy(): void
}

/** A server that is there takes a connection within it. Milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000
const KEEP_ALIVE_MS = 4_000

type Exchange = ReturnType<typeof overHttp>

export const openPool = ({
  connections,
  tls,
  caFile,
  lookup,
  proxyUrl,
  keepAlive = KEEP_ALIVE_MS,
}: PoolOptions): Pool => {
  const options: AgentOptions = {
    keepAlive: true,
    keepAliveMsecs: 30_000,
    timeout: keepAlive,
    ...(connections !== undefined && { maxSockets: connections }),
    ...(lookup && { lookup }),
    ...(proxyUrl !== undefined && { proxyEnv: { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl } }),
  }
  const secureAgent = () =>
    caFile === undefined ? new HttpsAgent({ ...options, ...tls }) : new AuthoritiesAgent(caFile, { ...options, ...tls })
  let plain: HttpAgent | undefined
  let secure: HttpsAgent | undefined
  const underWay = new Set<Exchange>()
  const destroy = (): void => {
    for (const exchange of underWay) exchange.destroy(new Error('the connections were closed'))
    plain?.destroy()
    secure?.destroy()
  }

  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        const { server, method, path, headers, body, silence } = request
        const isSecure = server.protocol === 'https:'
        if (isSecure) secure ??= secureAgent()
        else plain ??= new HttpAgent(options)
        const exchange = (isSecure ? overHttps : overHttp)({
          agent: isSecure ? secure : plain,
          hostname: server.hostname.replace(/^\[(.*)\]$/, '$1'),
          port: server.port,
          method,
          path,
          headers: body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
          timeout: silence?.before ?? 0,
        })
        underWay.add(exchange)
        watchOver(exchange, request, { resolve, reject, ended: () => underWay.delete(exchange) })
        exchange.end(body)
      }),
    async close() {
      await Promise.all(underWay.values().map((exchange) => new Promise((done) => exchange.once('close', done))))
      destroy()
    },
    destroy,
  }
}

interface Ends {
  readonly resolve: (answer: PoolAnswer) => void
  readonly reject: (error: unknown) => void
  readonly ended: () => void
}

/** Settles an exchange by its answer, its errors, its time and its signal. */
const watchOver = (
  exchange: Exchange,
  { server, signal, silence }: PoolRequest,
  { resolve, reject, ended }: Ends,
): void => {
  let body: IncomingMessage | undefined
  const fail = (error: Error): void => {
    // One that waits for a connection ends only when it has one.
    reject(error)
    ;(body ?? exchange).destroy(error)
  }
  const aborted = (): void =>
    fail(signal?.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal?.reason }))
  const release = (): void => signal?.removeEventListener('abort', aborted)
  signal?.addEventListener('abort', aborted)
  exchange.once('close', () => {
    release()
    ended()
  })
  exchange.on('error', (error) => {
    release()
    reject(error)
  })
  exchange.once('socket', (socket) => {
    if (!socket.connecting) return
    const before = silence?.before ?? 0
    socket.setTimeout(Math.min(before || CONNECT_TIMEOUT_MS, CONNECT_TIMEOUT_MS))
    socket.once(server.protocol === 'https:' ? 'secureConnect' : 'connect', () => socket.setTimeout(before))
  })
  exchange.on('timeout', () => {
    // The server is not silent where its answer is not read.
    if (body !== undefined && body.readableLength > 0) exchange.setTimeout(silence?.within ?? 0)
    else fail(new HttpTimeout(timedOut(exchange, body)))
  })
  exchange.once('response', (answer) => {
    body = answer
    body.once('end', release)
    if (silence !== undefined && silence.within !== silence.before) exchange.setTimeout(silence.within)
    resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body })
  })
}

const timedOut = ({ socket }: Exchange, body: IncomingMessage | undefined): ExchangeEnd => {
  if (body !== undefined) return 'BODY_TIMEOUT'
  return socket?.connecting ? 'CONNECT_TIMEOUT' : 'ANSWER_TIMEOUT'
}
