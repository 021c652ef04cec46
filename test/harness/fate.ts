import { once } from 'node:events'
import type { ClientRequest, IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Transform } from 'node:stream'

/**
 * What happens to one request:
 * `pass`; `drop`: the connection breaks before the server sees it; `lose`: the server does it and the answer is lost;
 * a status: the server never sees it and this is the answer; `late`: the server does it and the answer comes when that resolves;
 * `through`: the body of the answer comes through that, late or slowly;
 * a promise: held until it resolves, then as it says.
 */
export type Fate =
  | 'pass'
  | 'drop'
  | 'lose'
  | { readonly status: number; readonly headers?: Record<string, string> }
  | { readonly late: Promise<void> }
  | { readonly through: Transform }

export interface ProxiedRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  /** From 1, over all requests of this proxy. */
  readonly number: number
}

/** How a proxy goes on with a request. */
export interface Way {
  /** The same request to the server behind it, without its body. */
  upstream(): ClientRequest
  /** The body of an answer that the server never gave, in its own words. */
  refusal(status: number): object
}

export const meet = (fate: Fate, incoming: IncomingMessage, answer: ServerResponse, way: Way): void => {
  if (fate === 'drop') {
    incoming.socket.destroy()
  } else if (typeof fate === 'object' && 'status' in fate) {
    incoming.resume()
    const headers = { 'content-type': 'application/json', ...fate.headers }
    answer.writeHead(fate.status, headers).end(JSON.stringify(way.refusal(fate.status)))
  } else {
    forward(fate, incoming, answer, way.upstream())
  }
}

const forward = (
  fate: 'pass' | 'lose' | { readonly late: Promise<void> } | { readonly through: Transform },
  incoming: IncomingMessage,
  answer: ServerResponse,
  upstream: ClientRequest,
): void => {
  const give = (response: IncomingMessage) => {
    answer.writeHead(response.statusCode ?? 502, response.headers)
    answer.flushHeaders()
    if (typeof fate === 'object' && 'through' in fate) response.pipe(fate.through).pipe(answer)
    else response.pipe(answer)
    response.on('error', () => answer.destroy())
  }
  upstream.on('response', (response) => {
    if (fate === 'lose') response.resume().on('end', () => incoming.socket.destroy())
    else if (fate === 'pass' || 'through' in fate) give(response)
    else void fate.late.then(() => give(response))
  })
  upstream.on('error', () => answer.destroy())
  answer.on('close', () => upstream.destroy())
  incoming.pipe(upstream)
}

/** Ends a proxy and what is under way through it. */
export const closeServer = async (server: Server): Promise<void> => {
  if (!server.listening) return
  const closed = once(server, 'close')
  // First no new ones: a client that is cut comes back at once.
  server.close()
  // Again and again: one that was shaking hands is no connection yet, and would be served afterwards.
  const cutting = setInterval(() => server.closeAllConnections(), 100)
  server.closeAllConnections()
  await closed
  clearInterval(cutting)
}
