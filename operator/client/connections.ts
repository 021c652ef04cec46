import type { LookupFunction } from 'node:net'
import { Agent, type Dispatcher, ProxyAgent } from 'undici'
import { detach } from '#lib/process/detach.ts'
import type { TlsMaterial } from './credentials.ts'

/** Pooled connections to one server, watches apart from requests, so that neither starves the other. */
export interface Connections {
  readonly requests: Dispatcher
  readonly streams: Dispatcher
}

/** Requests beyond this number wait for a free connection. */
const REQUEST_CONNECTIONS = 64
/** Shorter than the 90 s after which the API server closes an idle connection, so that we never write to a closing one. */
const KEEP_ALIVE_MS = 60_000

/**
 * The connections that fit the TLS material in use. When a certificate changes new ones are made, and old streams may end.
 * @param lookup resolves the server's name; Node.js' own when undefined
 */
export const connectionsTo = (proxyUrl: string | undefined, lookup: LookupFunction | undefined) => {
  let current: (Connections & { readonly tls: TlsMaterial }) | undefined

  const pool = (tls: TlsMaterial, options: Agent.Options): Dispatcher => {
    // HTTP/2 stays off: undici would choose it with Go servers, and long watches over it leaked memory in pepr's soak.
    const common = { ...options, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS }
    const connect = { ...tls, keepAlive: true, keepAliveInitialDelay: 30_000, ...(lookup && { lookup }) }
    return proxyUrl === undefined
      ? new Agent({ ...common, connect })
      : new ProxyAgent({ ...common, uri: proxyUrl, requestTls: connect })
  }

  return {
    over(tls: TlsMaterial): Connections {
      if (current?.tls === tls) return current
      if (current !== undefined)
        detach(
          'closing connections with older credentials',
          Promise.all([current.requests.close(), current.streams.close()]),
        )
      current = { tls, requests: pool(tls, { connections: REQUEST_CONNECTIONS }), streams: pool(tls, {}) }
      return current
    },
    async close(): Promise<void> {
      await Promise.all([current?.requests.destroy(), current?.streams.destroy()])
    },
  }
}
