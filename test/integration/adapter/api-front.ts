import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ApiRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly body: string
}

/**
 * `drop`: the connection breaks and the API never sees it; `lose`: the API does it, and the connection breaks; an answer: the API never sees it, and this is what the adapter hears;
 * `altered`: the API does it, and the adapter hears something else.
 */
export type ApiFate =
  | 'pass'
  | 'drop'
  | 'lose'
  | { readonly status: number; readonly body?: object }
  | { readonly altered: (answer: string) => string }

/** Stands before the HyperFleet API and decides the fate of each request. */
export interface ApiFront {
  readonly url: string
  /** From now on. */
  decide(fate: (request: ApiRequest) => ApiFate | Promise<ApiFate>): void
  /** From now on another API answers. @param api its address */
  lead(api: string): void
  stop(): Promise<void>
}

/** @param api the address of the API */
export const apiFront = async (api: string): Promise<ApiFront> => {
  let target = api
  let decide: (request: ApiRequest) => ApiFate | Promise<ApiFate> = () => 'pass'
  const server = createServer((incoming, answer) => {
    const gone = new AbortController()
    answer.on('close', () => gone.abort())
    meet(incoming, answer).catch(() => answer.destroy())

    async function meet(asked: IncomingMessage, given: ServerResponse): Promise<void> {
      const { method = 'GET', url: path = '/' } = asked
      const body = await textOf(asked)
      const fate = await decide({ method, path, body })
      if (fate === 'drop') {
        asked.socket.destroy()
      } else if (fate === 'pass' || fate === 'lose' || 'altered' in fate) {
        const headers = { 'content-type': asked.headers['content-type'] ?? 'application/json' }
        const response = await fetch(target + path, {
          method,
          headers,
          signal: gone.signal,
          ...(body !== '' && { body }),
        })
        const type = response.headers.get('content-type') ?? 'application/json'
        const text = await response.text()
        if (fate === 'lose') asked.socket.destroy()
        else given.writeHead(response.status, { 'content-type': type }).end(fate === 'pass' ? text : fate.altered(text))
      } else {
        given.writeHead(fate.status, { 'content-type': 'application/json' }).end(JSON.stringify(fate.body ?? {}))
      }
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    decide: (fate) => {
      decide = fate
    },
    lead: (to) => {
      target = to
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const textOf = async (incoming: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
