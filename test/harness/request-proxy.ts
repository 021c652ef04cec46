import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request as httpsRequest, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as kubeconfigs from '#hack/cluster/kubeconfig.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { Connection } from './connection.ts'

/**
 * What happens to one request:
 * `pass`; `drop`: the connection breaks before the server sees it; `lose`: the server does it and the answer is lost;
 * a status: the server never sees it and this is the answer; a promise: held until it resolves, then as it says.
 */
export type Fate = 'pass' | 'drop' | 'lose' | { readonly status: number; readonly headers?: Record<string, string> }

export interface ProxiedRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  /** From 1, over all requests of this proxy. */
  readonly number: number
}

/** Stands before an API server and decides the fate of each request. */
export interface RequestProxy extends AsyncDisposable {
  /** https://127.0.0.1:port, with the API server's own certificate. */
  readonly server: string
  /** A kubeconfig through the proxy, as admin. */
  readonly kubeconfig: string
  /** Every request so far. */
  requests(): readonly ProxiedRequest[]
  /** From now on. */
  decide(fate: (request: ProxiedRequest) => Fate | Promise<Fate>): void
  /** Breaks what is under way, watches included. */
  cut(): void
  stop(): Promise<void>
}

export const requestProxy = async (connection: Connection): Promise<RequestProxy> => {
  const requests: ProxiedRequest[] = []
  let decide: (request: ProxiedRequest) => Fate | Promise<Fate> = () => 'pass'

  const server = createServer(
    { cert: connection.certificateAuthority, key: connection.certificateKey },
    (incoming, answer) => {
      const request = { method: incoming.method ?? 'GET', path: incoming.url ?? '/', number: requests.length + 1 }
      requests.push(request)
      void Promise.resolve(decide(request)).then((fate) => meet(fate, incoming, answer, connection))
    },
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const kubeconfig = join(await temporaryFolder('kubeconfig'), 'kubeconfig')
  await kubeconfigs.writeKubeconfig(
    kubeconfig,
    kubeconfigs.kubeconfig({ ...connection, name: 'proxy', server: address }),
  )

  const stop = () => close(server)
  return {
    server: address,
    kubeconfig,
    requests: () => requests,
    decide: (fate) => {
      decide = fate
    },
    cut: () => server.closeAllConnections(),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

const meet = (fate: Fate, incoming: IncomingMessage, answer: ServerResponse, connection: Connection): void => {
  if (fate === 'drop') {
    incoming.socket.destroy()
  } else if (typeof fate === 'object') {
    incoming.resume()
    const message = `request-proxy answers ${fate.status}`
    const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: fate.status, reason: '', message }
    answer.writeHead(fate.status, { 'content-type': 'application/json', ...fate.headers }).end(JSON.stringify(body))
  } else {
    forward(fate, incoming, answer, connection)
  }
}

const forward = (
  fate: 'pass' | 'lose',
  incoming: IncomingMessage,
  answer: ServerResponse,
  connection: Connection,
): void => {
  const upstream = httpsRequest(connection.server + incoming.url, {
    method: incoming.method,
    headers: { ...incoming.headers, host: new URL(connection.server).host },
    ca: connection.certificateAuthority,
  })
  upstream.on('response', (response) => {
    if (fate === 'lose') {
      response.resume().on('end', () => incoming.socket.destroy())
      return
    }
    answer.writeHead(response.statusCode ?? 502, response.headers)
    answer.flushHeaders()
    response.pipe(answer)
    response.on('error', () => answer.destroy())
  })
  upstream.on('error', () => answer.destroy())
  answer.on('close', () => upstream.destroy())
  incoming.pipe(upstream)
}

const close = async (server: Server): Promise<void> => {
  if (!server.listening) return
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}
