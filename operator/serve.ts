import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Binding, listen } from './binding.ts'

/** A small HTTP server of the operator, for Prometheus and the kubelet. */
export interface SideServer {
  readonly port: number
  /** Open connections are cut: their clients ask again. */
  stop(): Promise<void>
}

export interface Answer {
  readonly status: number
  /** text/plain by default. */
  readonly contentType?: string
  readonly body: string
}

/** By path; each is asked for its answer on every GET and HEAD. */
export type Routes = Readonly<Record<string, (query: URLSearchParams) => Answer | Promise<Answer>>>

/**
 * Serves the routes, 404 elsewhere. An answer that can't be made is a 500, never the end of the process.
 * @param flag names where the binding came from, for the error
 * @throws BindingError
 */
export const serve = async (routes: Routes, binding: Binding, flag: string): Promise<SideServer> => {
  const answerTo = async ({ method, url = '/' }: IncomingMessage): Promise<Answer> => {
    const { pathname, searchParams } = URL.parse(url, 'http://localhost') ?? {}
    const route = pathname !== undefined && Object.hasOwn(routes, pathname) ? routes[pathname] : undefined
    if (route === undefined) return { status: 404, body: `not found, there is: ${Object.keys(routes).join(' ')}\n` }
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: 'only GET and HEAD\n' }
    try {
      return await route(searchParams ?? new URLSearchParams())
    } catch (error) {
      return { status: 500, body: `${error instanceof Error ? error.message : String(error)}\n` }
    }
  }

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, contentType = 'text/plain; charset=utf-8', body } = await answerTo(request)
    response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) })
    response.end(request.method === 'HEAD' ? undefined : body)
  }

  const server = http.createServer((request, response) => void respond(request, response))
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
