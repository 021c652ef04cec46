import { once } from 'node:events'
import { createServer, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as kubeconfigs from '#hack/cluster/kubeconfig.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { Connection } from './connection.ts'
import { closeServer, type Fate, meet, type ProxiedRequest } from './fate.ts'

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
  /** From now on, a request goes to the API server at this address, which has the same certificate and tokens. */
  route(serverOf: (request: ProxiedRequest) => string): void
  /** Breaks what is under way, watches included. */
  cut(): void
  /** New connections meet this certificate, or the API server's own again. */
  present(certificate?: { readonly cert: string; readonly key: string }): void
  stop(): Promise<void>
}

export const requestProxy = async (connection: Connection): Promise<RequestProxy> => {
  const requests: ProxiedRequest[] = []
  let decide: (request: ProxiedRequest) => Fate | Promise<Fate> = () => 'pass'
  let serverOf: (request: ProxiedRequest) => string = () => connection.server

  const own = { cert: connection.certificateAuthority, key: connection.certificateKey }
  const server = createServer(own, (incoming, answer) => {
    const request = { method: incoming.method ?? 'GET', path: incoming.url ?? '/', number: requests.length + 1 }
    requests.push(request)
    const upstream = () => {
      const to = serverOf(request)
      return httpsRequest(to + request.path, {
        method: request.method,
        headers: { ...incoming.headers, host: new URL(to).host },
        ca: connection.certificateAuthority,
      })
    }
    void Promise.resolve(decide(request)).then((fate) => meet(fate, incoming, answer, { upstream, refusal }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const kubeconfig = join(await temporaryFolder('kubeconfig'), 'kubeconfig')
  await kubeconfigs.writeKubeconfig(
    kubeconfig,
    kubeconfigs.kubeconfig({ ...connection, name: 'proxy', server: address }),
  )

  const stop = () => closeServer(server)
  return {
    server: address,
    kubeconfig,
    requests: () => requests,
    decide: (fate) => {
      decide = fate
    },
    route: (to) => {
      serverOf = to
    },
    cut: () => server.closeAllConnections(),
    present: (certificate = own) => server.setSecureContext(certificate),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

const refusal = (status: number): object => {
  const message = `request-proxy answers ${status}`
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, reason: '', message }
}
