/** An etcd whose word comes late: what it tells of changes, and what it answers. */
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Session,
  type ServerHttp2Stream,
  type ServerStreamResponseOptions,
} from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { delayed } from './slow-stream.ts'

/** Milliseconds. */
export interface EtcdDelays {
  /** Of what watches tell: the API server's cache is so far behind. */
  readonly watches: number
  /** Of answers to reads: what they tell is so old when it arrives. */
  readonly reads: number
}

export interface LateEtcd extends AsyncDisposable {
  /** From now on, also on what is open. Nothing is late before. */
  delay(delays: EtcdDelays): void
}

const RANGE = '/etcdserverpb.KV/Range'
const WATCH = '/etcdserverpb.Watch/Watch'

/**
 * Listens on one unix socket for what is meant for the etcd on another. gRPC is HTTP/2, and each call a stream of its own, so
 * writes and leases pass unhindered on a connection whose watches are late.
 */
export const startLateEtcd = async (socket: string, etcd: string): Promise<LateEtcd> => {
  let delays: EtcdDelays = { watches: 0, reads: 0 }
  const server = createServer()
  const sessions = new Map<Http2Session, ClientHttp2Session>()
  server.on('session', (session) => {
    const upstream = connect('http://etcd', { createConnection: () => connectSocket(etcd) })
    sessions.set(session, upstream)
    const end = () => {
      sessions.delete(session)
      upstream.destroy()
      session.destroy()
    }
    for (const one of [session, upstream]) one.on('error', end).on('close', end)
  })
  server.on('stream', (stream, headers) => {
    const upstream = stream.session === undefined ? undefined : sessions.get(stream.session)
    if (upstream === undefined) return stream.close(constants.NGHTTP2_REFUSED_STREAM)
    const { ':path': path } = headers
    const delay = () => (path === WATCH ? delays.watches : path === RANGE ? delays.reads : 0)
    forward(stream, upstream.request(headers), delay)
  })
  server.listen(socket)
  await once(server, 'listening')
  return {
    delay: (given) => {
      delays = given
    },
    async [Symbol.asyncDispose]() {
      server.close()
      for (const session of sessions.keys()) session.destroy()
      await once(server, 'close')
    },
  }
}

const forward = (
  stream: ServerHttp2Stream,
  upstream: ReturnType<ClientHttp2Session['request']>,
  delay: () => number,
): void => {
  let trailers = {}
  upstream.on('response', (headers, flags) => {
    // An answer that is only a status has no trailers: they are its headers.
    const isLast = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
    const options: ServerStreamResponseOptions = isLast ? { endStream: true } : { waitForTrailers: true }
    if (stream.destroyed) return
    stream.respond(headers, options)
    if (!isLast) upstream.pipe(delayed(delay)).pipe(stream)
  })
  upstream.on('trailers', (given) => {
    trailers = given
  })
  stream.on('wantTrailers', () => stream.sendTrailers(trailers))
  stream.on('error', () => upstream.close(constants.NGHTTP2_CANCEL))
  stream.on('aborted', () => upstream.close(constants.NGHTTP2_CANCEL))
  upstream.on('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
  stream.pipe(upstream)
}
