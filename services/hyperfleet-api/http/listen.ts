import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { createTransport, type RequestTimeouts } from './transport.ts'

export interface ListenAddress {
  /** Every interface when undefined. */
  readonly host?: string | undefined
  readonly port: number
}

/** Serves beside the API, as probes do. */
export const listenOn = async (server: Server, { host, port }: ListenAddress) => {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen({ host: host ?? '::', port }, resolve)
  await promise
  return {
    url: urlOf(server),
    close: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Where a server can be reached from this machine. */
export const urlOf = (server: Server, scheme = 'http'): string => {
  const { address, port, family } = server.address() as AddressInfo
  const isEverywhere = address === '::' || address === '0.0.0.0'
  const host = isEverywhere ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address
  return `${scheme}://${host}:${port}`
}

/** Milliseconds that requests under way have to finish when the server stops. */
const DRAIN_TIMEOUT_MS = 10_000

/** Answers over HTTP what a server answers over HTTPS, with the same limits, for clients of the release before. API-179. */
export const listenPlain = async (app: FastifyInstance, address: ListenAddress, timeouts: RequestTimeouts) => {
  const plain = createTransport(
    (request, response) => app.server.emit('request', request, response),
    timeouts,
    undefined,
  )
  plain.on('clientError', (error, socket) => app.server.emit('clientError', error, socket))
  const { url } = await listenOn(plain, address)
  return {
    url,
    close: () => drain(plain, () => new Promise<unknown>((resolve) => plain.close(resolve))),
  }
}

/** Lets requests under way finish, for a while, and closes. */
export const closeServer = (app: FastifyInstance): Promise<void> => drain(app.server, () => app.close())

const drain = async (server: Server, close: () => PromiseLike<unknown>): Promise<void> => {
  const timeout = setTimeout(() => server.closeAllConnections(), DRAIN_TIMEOUT_MS)
  await close()
  clearTimeout(timeout)
}
