import { type ConnectionOptions, createSecureContext } from 'node:tls'
import { openPool, type Pool, type PoolOptions } from '#lib/http/pool.ts'
import { detach } from '#lib/process/detach.ts'
import type { TlsMaterial } from './credentials.ts'
import { KubeConfigError } from './kubeconfig.ts'

/** Pooled connections to one server, watches apart from requests, so that neither starves the other. */
export interface Connections {
  readonly requests: Pool
  readonly streams: Pool
}

/** Requests beyond this number wait for a free connection. */
const REQUEST_CONNECTIONS = 64
/** Shorter than the 90 s after which the API server closes an idle connection, so that we never write to a closing one. */
const KEEP_ALIVE_MS = 60_000

/**
 * The connections that fit the TLS material in use. When a certificate changes new ones are made, and old streams may end.
 * @param lookup resolves the server's name; Node.js' own when undefined
 * @throws KubeConfigError for a proxy that is none of HTTP
 */
export const connectionsTo = (proxyUrl: string | undefined, lookup: PoolOptions['lookup']) => {
  if (proxyUrl !== undefined && !/^https?:/.test(proxyUrl))
    throw new KubeConfigError(`proxy-url: ${proxyUrl} is no HTTP proxy: write http://… or https://…`)
  let current: (Connections & { readonly tls: TlsMaterial }) | undefined
  /** The current ones, and those with older credentials that have not ended. */
  const open = new Set<Connections>()

  const leave = async (former: Connections): Promise<void> => {
    await Promise.all([former.requests.close(), former.streams.close()])
    open.delete(former)
  }

  const pool = (tls: ConnectionOptions, connections?: number): Pool =>
    openPool({ tls, lookup, proxyUrl, keepAlive: KEEP_ALIVE_MS, ...(connections !== undefined && { connections }) })

  return {
    over(tls: TlsMaterial): Connections {
      if (current?.tls === tls) return current
      const former = current
      const shared = contextOf(tls)
      current = { tls, requests: pool(shared, REQUEST_CONNECTIONS), streams: pool(shared) }
      open.add(current)
      if (former !== undefined) detach('closing connections with older credentials', leave(former))
      return current
    },
    close(): void {
      for (const { requests, streams } of open) {
        requests.destroy()
        streams.destroy()
      }
    },
  }
}

/**
 * The material in the form that connections share: Node.js otherwise reads certificates and key once more for each connection,
 * which took a third of the CPU that a connection costs, and keeps what it has read. Without a CA of its own a server is
 * trusted by those that Node.js has, which it reads once.
 * @throws Error when a certificate or the key can't be read
 */
const contextOf = ({ ca, cert, key, ...rest }: TlsMaterial): ConnectionOptions =>
  ca === undefined ? { ...rest, cert, key } : { ...rest, secureContext: createSecureContext({ ca, cert, key }) }
