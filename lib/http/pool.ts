/** Requests by HTTP/1.1 over connections that are used again: Node's own client, which parses answers outside of JavaScript. Why: docs/decisions/http-client.md. */
import { type AgentOptions, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { once } from '#lib/once.ts'
import { AuthoritiesAgent } from './authorities-agent.ts'
import { limitConnecting } from './connecting.ts'
import { type PoolAnswer, type PoolRequest, startExchange } from './exchange.ts'
import { Turns } from './turns.ts'

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
  /** How long making a connection may take, in milliseconds. Default 10 s. */
  readonly connectTimeout?: number
}

export interface Pool {
  /** @throws what broke the connection, HttpTimeout, or what the signal was aborted with; so does reading the body */
  send(request: PoolRequest): Promise<PoolAnswer>
  /** Lets what is under way end, and closes all connections. Nothing can be sent any more. */
  close(): Promise<void>
  /** Cuts all connections, and what is under way with them. Nothing can be sent any more. */
  destroy(): void
}

const KEEP_ALIVE_MS = 4_000

export const openPool = (options: PoolOptions): Pool => {
  const agents = createAgents(options)
  const turns = new Turns(options.connections)
  /** What cuts each request that has not ended. */
  const underWay = new Set<(error: Error) => void>()
  const idle: (() => void)[] = []
  let isClosed = false
  const destroy = (): void => {
    isClosed = true
    const error = closedError()
    for (const cut of underWay) cut(error)
    agents.destroy(error)
  }

  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        const { server, signal } = request
        if (isClosed) throw closedError()
        if (signal?.aborted === true) throw reasonOf(signal)
        let cutExchange: ((error: Error) => void) | undefined
        const cut = (error: Error): void => {
          reject(error)
          if (cutExchange === undefined) ended()
          else cutExchange(error)
        }
        const aborted = (): void => cut(reasonOf(signal))
        const done = (): void => signal?.removeEventListener('abort', aborted)
        const ended = (): void => {
          done()
          underWay.delete(cut)
          leave()
          if (underWay.size === 0) for (const tell of idle.splice(0)) tell()
        }
        let leave = (): void => undefined
        signal?.addEventListener('abort', aborted)
        underWay.add(cut)
        leave = turns.take(server.origin, () => {
          try {
            cutExchange = startExchange(agents.of(server), request, { resolve, reject, done, ended })
          } catch (error) {
            reject(error)
            process.nextTick(ended)
          }
        })
      }),
    async close() {
      isClosed = true
      if (underWay.size > 0) await new Promise<void>((tell) => idle.push(tell))
      destroy()
    },
    destroy,
  }
}

const closedError = (): Error => new Error('the connections were closed')

const reasonOf = (signal: AbortSignal | undefined): Error =>
  signal?.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal?.reason })

/** One for servers with TLS and one for others, when they are needed. */
const createAgents = ({
  tls,
  caFile,
  lookup,
  proxyUrl,
  keepAlive = KEEP_ALIVE_MS,
  connectTimeout: within,
}: PoolOptions) => {
  const options: AgentOptions = {
    keepAlive: true,
    keepAliveMsecs: 30_000,
    timeout: keepAlive,
    ...(lookup && { lookup }),
    ...(proxyUrl !== undefined && { proxyEnv: { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl } }),
  }
  const secureAgent = () =>
    caFile === undefined ? new HttpsAgent({ ...options, ...tls }) : new AuthoritiesAgent(caFile, { ...options, ...tls })
  const made: { readonly agent: HttpAgent; readonly cut: (error: Error) => void }[] = []
  const limited = (agent: HttpAgent, isSecure: boolean) => {
    const connects = isSecure ? 'secureConnect' : 'connect'
    const one = {
      agent,
      cut: limitConnecting(agent, { connects, isTunnel: isSecure && proxyUrl !== undefined, within }),
    }
    made.push(one)
    return one
  }
  const secure = once(() => limited(secureAgent(), true))
  const plain = once(() => limited(new HttpAgent(options), false))
  return {
    of: ({ protocol }: URL): HttpAgent => (protocol === 'https:' ? secure : plain)().agent,
    destroy(error: Error): void {
      for (const { agent, cut } of made) {
        cut(error)
        agent.destroy()
      }
    },
  }
}
