/** One request over a connection of an agent, and its answer: it settles once, whatever the server does. RUNTIME-83, RUNTIME-86. */
import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { isBeingMade } from './connecting.ts'
import { HttpTimeout } from './http-timeout.ts'

export interface PoolRequest {
  readonly server: URL
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** How long the server may be silent before it answers, and then within the answer, in milliseconds. Without a limit when undefined. */
  readonly silence?: { readonly before: number; readonly within: number }
}

export interface PoolAnswer {
  readonly status: number
  /** By names in lower case. */
  readonly headers: IncomingHttpHeaders
  /** To be read to its end or destroyed: its connection waits for that. */
  readonly body: IncomingMessage
}

interface Ends {
  readonly resolve: (answer: PoolAnswer) => void
  readonly reject: (error: unknown) => void
  /** The answer was read, or will not come: nothing is left to be cut. */
  readonly done: () => void
  /** Nothing of it is left: its connection is free, or closed. */
  readonly ended: () => void
}

/** Names of headers by which two readers would see two requests where one was sent, or that wait for an answer which is none: in lower case. */
export const FRAMING_HEADERS = ['content-length', 'transfer-encoding', 'trailer', 'keep-alive', 'upgrade', 'expect']

/** @returns cuts it @throws Error for what can't be sent, such as a header of several lines */
export const startExchange = (agent: Agent, request: PoolRequest, ends: Ends): ((error: Error) => void) => {
  const { server, method, path, headers, body: sent, silence } = request
  const framing = Object.keys(headers).find((name) => FRAMING_HEADERS.includes(name.toLowerCase()))
  if (framing !== undefined) throw new Error(`the header ${framing} is written by the sender`)
  const exchange = (server.protocol === 'https:' ? overHttps : overHttp)({
    agent,
    hostname: server.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: server.port,
    method,
    path,
    headers: sent === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(sent) },
    timeout: silence?.before ?? 0,
  })
  let body: IncomingMessage | undefined
  const cut = (error: Error): void => {
    ends.reject(error)
    body?.destroy(error)
    // Also when the answer was read: the server may not have taken all of the request.
    exchange.destroy(error)
  }
  const answered = watchBefore(exchange, silence?.before ?? 0, cut)
  exchange.on('error', (error) => {
    ends.done()
    ends.reject(error)
    if (body?.complete === false) body.destroy(error)
  })
  exchange.once('upgrade', (answer, socket) => {
    ends.reject(new Error(`the server answered with ${answer.statusCode}: it wants to go on with another protocol`))
    socket.destroy()
  })
  exchange.once('response', (answer) => {
    answered()
    body = answer
    body.once('end', () => {
      ends.done()
      // A server that answers before it has taken the request may never take it.
      if (!exchange.writableFinished) exchange.destroy()
    })
    watchWithin(body, silence?.within ?? 0, cut)
    ends.resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body })
  })
  exchange.once('close', () => {
    answered()
    ends.reject(new Error('the connection was closed'))
    ends.done()
    // The connection is free only after this event.
    process.nextTick(ends.ended)
  })
  exchange.end(sent)
  return cut
}

type Exchange = ReturnType<typeof overHttp>

/**
 * Cuts an exchange whose server is silent: it takes nothing of the request, or has not answered so long after it took all. Bytes that
 * are no answer yet, such as one header after the other, are silence.
 * @returns to be called when the answer is there
 */
const watchBefore = (exchange: Exchange, before: number, cut: (error: Error) => void): (() => void) => {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const end = (): void => {
    if (!isOver) cut(new HttpTimeout(isBeingMade(exchange.socket) ? 'CONNECT_TIMEOUT' : 'ANSWER_TIMEOUT'))
  }
  exchange.once('socket', (socket) => socket.setTimeout(before))
  exchange.on('timeout', () => afterReading(end))
  exchange.once('finish', () => {
    if (!isOver && before > 0) timer = setTimeout(() => afterReading(end), before).unref()
  })
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}

/** Cuts an answer whose server falls silent. It is not silent where its answer is not read. */
const watchWithin = (body: IncomingMessage, within: number, cut: (error: Error) => void): void => {
  // Also without a reader it ends with its error, and one that comes later gets that.
  body.on('error', (error) => {
    if (error.message === 'aborted') error.message = 'the connection was cut within the answer'
  })
  const { socket } = body
  socket.setTimeout(within)
  body.on('timeout', () => {
    const bytes = socket.bytesRead
    afterReading(() => {
      if (body.readableLength > 0 || socket.bytesRead > bytes) body.socket?.setTimeout(within)
      else cut(new HttpTimeout('BODY_TIMEOUT'))
    })
  })
}

/** Timers come before what has arrived when the process stood still: that is read first. */
const afterReading = (then: () => void): void => {
  setImmediate(then)
}
