import type { Agent } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { HttpTimeout } from './http-timeout.ts'

/** A server that is there takes a connection within it: its name is looked up, a proxy and TLS included. Milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000

type Connected = (error: Error | null, socket?: Duplex) => void

/** Connections that are being made. */
const making = new WeakSet<object>()

/** Is it being made, its handshake included? */
export const isBeingMade = (socket: object | null): boolean => socket === null || making.has(socket)

/**
 * Gives each connection of an agent ten seconds to be made, however much of it comes byte by byte, and has what stands in its way,
 * thrown or told, end the request that it is for. RUNTIME-83.
 * @param connects the event of a socket that the server can be written to from then on
 * @param isTunnel whether an agent gives a socket only when that is so, as through a proxy with TLS
 * @returns cuts those of which the agent does not know yet
 */
export const limitConnecting = (
  agent: Agent,
  { connects, isTunnel, within = CONNECT_TIMEOUT_MS }: ConnectingOptions,
): ((error: Error) => void) => {
  const create = agent.createConnection.bind(agent)
  const attempts = new Set<(error: Error) => void>()
  agent.createConnection = (options, connected) => {
    const tell = connected as Connected
    let tunnel: Duplex | null | undefined
    const finish: Connected = (error, socket) => {
      const isFirst = attempts.delete(cut)
      clearTimeout(timer)
      if (!isFirst || error !== null || socket === undefined) {
        // That of a proxy which refuses would stay open: the agent does not take it.
        socket?.destroy()
        if (isFirst) tell(error ?? new Error('there is no connection'))
        return
      }
      if (!isTunnel) endLate(socket as Socket, connects, deadline - performance.now())
      tell(null, socket)
    }
    const cut = (error: Error): void => {
      finish(error)
      tunnel?.destroy()
    }
    const deadline = performance.now() + within
    const timer = setTimeout(() => cut(new HttpTimeout('CONNECT_TIMEOUT')), within)
    attempts.add(cut)
    try {
      const made = create(options, finish as typeof connected)
      if (isTunnel) tunnel = made
      else if (made) finish(null, made)
    } catch (error) {
      finish(error as Error)
    }
    return undefined
  }
  return (error) => {
    for (const cut of attempts) cut(error)
  }
}

interface ConnectingOptions {
  readonly connects: 'connect' | 'secureConnect'
  readonly isTunnel: boolean
  /** Milliseconds. */
  readonly within?: number | undefined
}

const endLate = (socket: Socket, connects: ConnectingOptions['connects'], within: number): void => {
  making.add(socket)
  const made = (): void => {
    clearTimeout(timer)
    making.delete(socket)
  }
  const late = (): void => {
    if (making.has(socket)) socket.destroy(new HttpTimeout('CONNECT_TIMEOUT'))
  }
  // What has come while the process stood still is taken first.
  const timer = setTimeout(() => setImmediate(late), within)
  socket.once(connects, made).once('close', made)
}
