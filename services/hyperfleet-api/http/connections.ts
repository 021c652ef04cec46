import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { SocketQueue } from '#lib/socket-queue.ts'

/** Of callers that were let in on none of their requests, strangers among them. */
export const MAX_STRANGERS = 256
/** Of those that were, and have no request under way. */
export const MAX_IDLE = 512

/**
 * Bounds the connections that do nothing, as each holds about 60 KiB for TLS: what is under way on the others is bounded by caller
 * (API-83, `--max-streams`). One too many ends the oldest of its sort, so strangers keep out no one and end no connection of a caller. API-191.
 */
class ConnectionLimit {
  readonly #strangers = new SocketQueue(MAX_STRANGERS)
  readonly #idle = new SocketQueue(MAX_IDLE)
  readonly #callers = new WeakSet<Socket>()
  /** Requests under way: the next may be there before the last has ended. */
  readonly #counts = new WeakMap<Socket, number>()

  /** @param socket with TLS told twice: before the handshake as the one below */
  opened(socket: Socket): void {
    limits.set(socket, this)
    this.#strangers.add(socket)
    socket.once('close', () => {
      this.#strangers.forget(socket)
      this.#idle.forget(socket)
    })
  }

  begins(socket: Socket): void {
    this.#counts.set(socket, this.#countOf(socket) + 1)
    this.#idle.remove(socket)
  }

  letIn(socket: Socket): void {
    this.#callers.add(socket)
    this.#strangers.remove(socket)
  }

  ended(socket: Socket): void {
    this.#counts.set(socket, this.#countOf(socket) - 1)
    if (this.#countOf(socket) === 0 && this.#callers.has(socket)) this.#idle.add(socket)
  }

  #countOf(socket: Socket): number {
    return this.#counts.get(socket) ?? 0
  }
}

/** By the socket that requests come with. */
const limits = new WeakMap<Socket, ConnectionLimit>()

/** Bounds the connections of a server. */
export const limitConnections = (server: Server): void => {
  const limit = new ConnectionLimit()
  for (const event of ['connection', 'secureConnection']) server.on(event, (socket: Socket) => limit.opened(socket))
}

/** A request of the connection begins. @param whenEnded calls back once it has ended, also by the connection's end */
export const requestBegins = (socket: Socket, whenEnded: (ended: () => void) => void): void => {
  const limit = limits.get(socket)
  if (limit === undefined) return
  limit.begins(socket)
  whenEnded(() => limit.ended(socket))
}

/** The caller of a request was let in. */
export const callerIsLetIn = (socket: Socket): void => limits.get(socket)?.letIn(socket)
