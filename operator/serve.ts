import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import { detach } from '#lib/process/detach.ts'
import { limitIdleConnections } from '#lib/socket-queue.ts'
import { type Binding, listen } from './binding.ts'

/** A small HTTP server in the operator's process: for Prometheus, the kubelet, people. */
export interface SideServer {
  readonly port: number
  /** Open connections are cut: their clients ask again. */
  stop(): Promise<void>
}

/** The server's certificate and key, PEM. */
export interface Tls {
  readonly certificate: string
  readonly key: string
}

export interface Answer {
  readonly status: number
  /** text/plain by default. */
  readonly contentType?: string
  readonly body: string
}

/** By path; each is asked for its answer on every GET and HEAD. */
export type Routes = Readonly<
  Record<string, (query: URLSearchParams, request: IncomingMessage) => Answer | Promise<Answer>>
>

/**
 * Serves the routes, 404 elsewhere. An answer that can't be made is a 500, never the end of the process.
 * @param flag names where the binding came from, for the error
 * @param tls serves HTTPS with it; HTTP when undefined. PEM.
 * @throws BindingError
 */
export const serve = async (routes: Routes, binding: Binding, flag: string, tls?: Tls): Promise<SideServer> => {
  const answerTo = async (request: IncomingMessage): Promise<Answer> => {
    const { method, url = '/' } = request
    const { pathname, searchParams } = URL.parse(url, 'http://localhost') ?? {}
    const route = pathname !== undefined && Object.hasOwn(routes, pathname) ? routes[pathname] : undefined
    if (route === undefined) return { status: 404, body: `not found, there is: ${Object.keys(routes).join(' ')}\n` }
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: 'only GET and HEAD\n' }
    try {
      return await route(searchParams ?? new URLSearchParams(), request)
    } catch (error) {
      return { status: 500, body: `${error instanceof Error ? error.message : String(error)}\n` }
    }
  }

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, contentType = 'text/plain; charset=utf-8', body } = await answerTo(request)
    response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) })
    response.end(request.method === 'HEAD' ? undefined : body)
  }

  const listener = (request: IncomingMessage, response: ServerResponse) =>
    detach('answering a request', respond(request, response))
  return listenWith(listener, binding, flag, tls)
}

/**
 * Serves every request with one listener.
 * @param flag names where the binding came from, for the error
 * @param tls serves HTTPS with it; HTTP when undefined
 * @throws BindingError
 */
export const listenWith = async (
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  binding: Binding,
  flag: string,
  tls?: Tls,
): Promise<SideServer> => {
  const server =
    tls === undefined
      ? http.createServer(listener)
      : https.createServer({ cert: tls.certificate, key: tls.key, minVersion: 'TLSv1.2' }, listener)
  limitIdleConnections(server)
  const port = await listen(server, binding, flag)
  return {
    port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
