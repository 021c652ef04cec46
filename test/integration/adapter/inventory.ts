/** A small service with state, as tasks find them elsewhere: sites that are put, read and deleted, and that can be told to misbehave. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Inventory {
  readonly url: string
  /** By path. */
  readonly sites: Map<string, Site>
  /** `PUT /sites/1 200`, in the order of the answers. */
  readonly log: string[]
  /** Of the last request. */
  readonly headers: () => IncomingMessage['headers']
  /** Answers so many requests of a method in this way, and then as ever. */
  misbehave(method: string, times: number, answer: Misbehaviour): void
  /** Deletions are taken (202) and done when it is told to. */
  slow: boolean
  finish(): void
  /** Goes away, and comes again on the same port with its state. */
  stop(): Promise<void>
  start(): Promise<void>
}

export interface Site {
  readonly body: object
  readonly etag: string
}

export type Misbehaviour = (request: IncomingMessage, response: ServerResponse) => void

export const status =
  (code: number, headers: Record<string, string> = {}): Misbehaviour =>
  (_, response) => {
    response.writeHead(code, headers).end(JSON.stringify({ detail: `told to answer ${code}` }))
  }

export const startInventory = async (tls?: { readonly cert: string; readonly key: string }): Promise<Inventory> => {
  const sites = new Map<string, Site>()
  const leaving = new Set<string>()
  const log: string[] = []
  const told: { readonly method: string; times: number; readonly answer: Misbehaviour }[] = []
  let headers: IncomingMessage['headers'] = {}
  let version = 0
  let port = 0
  let server: Server | undefined

  const serve = (method: string, path: string, body: string, match: string | undefined): readonly [number, object?] => {
    const site = sites.get(path)
    if (method === 'POST') {
      const { id } = JSON.parse(body) as { id: string }
      const own = `${path}/${id}`
      if (sites.has(own)) return [409]
      sites.set(own, { body: JSON.parse(body), etag: `"${++version}"` })
      return [201, JSON.parse(body)]
    }
    if (method === 'PUT') {
      sites.set(path, { body: JSON.parse(body), etag: `"${++version}"` })
      return [site === undefined ? 201 : 200, JSON.parse(body)]
    }
    if (site === undefined) return [404]
    if (method === 'GET') return [200, site.body]
    if (match !== undefined && match !== site.etag) return [412]
    if (inventory.slow) {
      leaving.add(path)
      return [202]
    }
    sites.delete(path)
    return [204]
  }

  const listener: RequestListener = (request, response) => {
    void text(request).then((body) => {
      const { method = '', url = '/' } = request
      headers = request.headers
      response.on('finish', () => log.push(`${method} ${url} ${response.statusCode}`))
      const misbehaviour = told.find((one) => one.method === method && one.times > 0)
      if (misbehaviour !== undefined) {
        misbehaviour.times--
        misbehaviour.answer(request, response)
        return
      }
      const [code, answer] = serve(method, url, body, request.headers['if-match'])
      const etag = sites.get(url)?.etag
      response.writeHead(code, { 'content-type': 'application/json', ...(etag && { etag }) })
      response.end(answer && JSON.stringify(answer))
    })
  }

  const inventory: Inventory = {
    get url() {
      return `${tls === undefined ? 'http' : 'https'}://localhost:${port}`
    },
    sites,
    log,
    headers: () => headers,
    misbehave: (method, times, answer) => told.push({ method, times, answer }),
    slow: false,
    finish: () => {
      for (const path of leaving) sites.delete(path)
      leaving.clear()
    },
    async start() {
      server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
      server.listen(port, 'localhost')
      await once(server, 'listening')
      port = (server.address() as AddressInfo).port
    },
    async stop() {
      const ending = server
      server = undefined
      if (ending === undefined) return
      ending.close()
      ending.closeAllConnections()
      await once(ending, 'close')
    },
  }
  await inventory.start()
  return inventory
}
