import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Fuse } from './fuse.ts'

/** Stands between a process and PostgreSQL and reads along, so that the process can be killed at a certain statement. */
export interface PostgresProxy extends AsyncDisposable {
  /** The target's URL with the proxy's address in it. */
  readonly url: string
  /**
   * From now on every statement goes by this fuse. When it says so `die` is called, and from then on nothing passes: not
   * the statement when the process is to die before it, nor its answer when it is to die after it.
   */
  arm(fuse: Fuse, die: () => void): void
  disarm(): void
}

interface Charge {
  readonly fuse: Fuse
  readonly die: () => void
  /** The process is dead or dying: nothing passes. */
  isSpent: boolean
}

/** @param target `postgres://…`, without TLS */
export const postgresProxy = async (target: string): Promise<PostgresProxy> => {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  let charge: Charge | undefined
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket)
      // Messages go one by one; held back to be sent together, each statement would wait 40 ms for the last one's receipt.
      socket.setNoDelay(true)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        open.delete(socket)
        other.destroy()
      })
    }
    connectSession(client, upstream, () => charge)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.toString(),
    arm: (fuse, die) => {
      charge = { fuse, die, isSpent: false }
    },
    disarm: () => {
      charge = undefined
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Passes messages on in both directions, minding what is charged. */
const connectSession = (client: Socket, upstream: Socket, charged: () => Charge | undefined): void => {
  const statementOf = statementReader()
  /** The charge of a statement that the server does, and whose answer is never to be heard. */
  let last: Charge | undefined
  const fromClient = messageReader('startup')
  client.on('data', (chunk: Buffer) => {
    for (const message of fromClient(chunk)) {
      const charge = charged()
      // What follows the last statement, such as its Sync, has to reach the server too, or it never answers.
      if (charge?.isSpent === true && last === undefined) return
      const sql = statementOf(message)
      const fate = charge === undefined || charge.isSpent || sql === undefined ? 'lives' : charge.fuse.at(client, sql)
      if (charge !== undefined && fate !== 'lives') charge.isSpent = true
      if (charge !== undefined && fate === 'dies before') return charge.die()
      if (fate === 'dies after') last = charge
      upstream.write(message)
    }
  })
  const fromServer = messageReader('typed')
  upstream.on('data', (chunk: Buffer) => {
    for (const message of fromServer(chunk)) {
      if (last !== undefined) {
        if (typeOf(message) === 'Z') last.die()
      } else if (charged()?.isSpent !== true) client.write(message)
    }
  })
}

/** PostgreSQL: 54.7, Message Formats. Every message but a session's first has a type before its length. */
const messageReader = (first: 'startup' | 'typed'): ((chunk: Buffer) => Buffer[]) => {
  let rest: Buffer = Buffer.alloc(0)
  let isTyped = first === 'typed'
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    const messages: Buffer[] = []
    for (;;) {
      const header = isTyped ? 5 : 4
      if (rest.length < header) return messages
      const length = rest.readUInt32BE(header - 4) + header - 4
      if (rest.length < length) return messages
      messages.push(rest.subarray(0, length))
      rest = rest.subarray(length)
      isTyped = true
    }
  }
}

const typeOf = (message: Buffer): string => String.fromCharCode(message[0] ?? 0)

/** The text of the statement that a client's message makes the server do; undefined for the others. */
const statementReader = (): ((message: Buffer) => string | undefined) => {
  const prepared = new Map<string, string>()
  const portals = new Map<string, string>()
  return (message) => {
    const [first = '', second = ''] = message.subarray(5).toString('latin1').split('\0', 2)
    switch (typeOf(message)) {
      case 'Q':
        return first
      case 'P':
        prepared.set(first, second)
        return undefined
      case 'B':
        portals.set(first, prepared.get(second) ?? '')
        return undefined
      case 'E':
        return portals.get(first)
      default:
        return undefined
    }
  }
}
