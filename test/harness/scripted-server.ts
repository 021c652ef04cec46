import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'

export interface ScriptedRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** An HTTP server that answers what the test says: for answers that a real API server can't be made to give on demand. */
export interface ScriptedServer extends AsyncDisposable {
  /** http://127.0.0.1:port */
  readonly url: string
  /** A kubeconfig for it, as user `someone` with the token `secret`. */
  readonly kubeConfig: KubeConfig
  readonly requests: readonly ScriptedRequest[]
}

/** @param script answers one request; it is told how many came before */
export const scriptedServer = async (
  script: (request: ScriptedRequest, response: ServerResponse, before: number) => void,
): Promise<ScriptedServer> => {
  const requests: ScriptedRequest[] = []
  const server = createServer((incoming, response) => {
    void text(incoming).then((body) => {
      const { pathname: path, searchParams: query } = new URL(incoming.url ?? '/', 'http://localhost')
      const request = { method: incoming.method ?? '', path, query, headers: incoming.headers, body }
      requests.push(request)
      script(request, response, requests.length - 1)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser(
    { name: 'scripted', server: url, skipTLSVerify: false },
    { name: 'someone', token: 'secret' },
  )
  return {
    url,
    kubeConfig,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Writes a block again and again, as fast as it is read, until the client leaves. @param onWrite called before each */
export const writeEndlessly = (response: ServerResponse, block: string | Buffer, onWrite = (): void => {}): void => {
  const more = (): void => {
    if (response.destroyed) return
    onWrite()
    if (response.write(block)) setImmediate(more)
    else response.once('drain', more)
  }
  more()
}

/** Answers with JSON. */
export const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Answers with a Kubernetes Status, as the API server does for errors. */
export const refuse = (
  response: ServerResponse,
  code: number,
  reason: string,
  message: string,
  headers: Record<string, string> = {},
): void => json(response, code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }, headers)
