import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** By the other side, as that of a connection with TLS is the same before and after the handshake, and its socket is not. */
const keys = new WeakMap<Socket, string>()

const keyOf = (socket: Socket): string => {
  const key = keys.get(socket) ?? `${socket.remoteAddress} ${socket.remotePort}`
  keys.set(socket, key)
  return key
}

/** Connections of one server, the oldest first: one too many ends the oldest. Each is to be told of as soon as it is there. */
export class SocketQueue {
  readonly #most: number
  readonly #sockets = new Map<string, Socket>()

  constructor(most: number) {
    this.#most = most
  }

  /** In the place of the socket that it goes on, if that is here. */
  add(socket: Socket): void {
    if (socket.destroyed) return
    this.#sockets.set(keyOf(socket), socket)
    for (const [key, oldest] of this.#sockets) {
      if (this.#sockets.size <= this.#most) return
      this.#sockets.delete(key)
      oldest.destroy()
    }
  }

  remove(socket: Socket): void {
    this.#sockets.delete(keyOf(socket))
  }

  /** It is closed. The one that goes on it may be here still. */
  forget(socket: Socket): void {
    if (this.#sockets.get(keyOf(socket)) === socket) this.remove(socket)
  }
}

/** Of servers for probes, metrics, webhooks and people. */
const MAX_IDLE = 256

/** Ends the oldest of more connections of a server on which no request is under way: each takes memory, with TLS 60 KiB. SECURITY-34. */
export const limitIdleConnections = (server: Server, most = MAX_IDLE): void => {
  const idle = new SocketQueue(most)
  for (const event of ['connection', 'secureConnection'])
    server.on(event, (socket: Socket) => {
      idle.add(socket)
      socket.once('close', () => idle.forget(socket))
    })
  server.on('request', ({ socket }, response) => {
    idle.remove(socket)
    response.once('close', () => idle.add(socket))
  })
}
