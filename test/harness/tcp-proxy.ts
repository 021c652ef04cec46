import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A stand-in for a bad network between a client and a server. */
export interface TcpProxy extends AsyncDisposable {
  /** The target's URL with the proxy's address in it. */
  readonly url: string
  /** Connections that are open now. */
  connections(): number
  /** Breaks all connections (RST); new ones are welcome. */
  cut(): void
  /** Bytes stop moving in both directions, connections stay open: a dead peer. New connections are held too. */
  hold(): void
  /** Ends `hold`: what was held is delivered. */
  release(): void
  /** Connections that are open stay so and carry nothing any more, whatever becomes of the server: it vanished. New ones are welcome. */
  strand(): void
  /** Each new connection ends once it has carried so many bytes from the server; what they carried arrives. */
  endAfter(bytes: number): void
  /** Each new connection is held once it has carried so many bytes from the server, until `release`. */
  holdAfter(bytes: number): void
  /** Bytes that all connections carried from the server. */
  carried(): number
  /** New connections are broken at once, until `accept`. */
  refuse(): void
  accept(): void
  /** New connections go to this server; those that are open stay where they are. */
  redirect(target: string): void
  stop(): Promise<void>
}

/** Starts a proxy on 127.0.0.1 before a server. @param target any URL with a host and a port: https, nats, postgres, … */
export const tcpProxy = async (target: string): Promise<TcpProxy> => {
  let upstreamUrl = new URL(target)
  const pairs = new Set<readonly [Socket, Socket]>()
  const stranded = new Set<readonly [Socket, Socket]>()
  let held = false
  let refusing = false
  let longest = Number.POSITIVE_INFINITY
  let free = Number.POSITIVE_INFINITY
  let carried = 0

  const server = createServer((client) => {
    if (refusing) {
      client.resetAndDestroy()
      return
    }
    const upstream = connect(Number(upstreamUrl.port), upstreamUrl.hostname)
    const pair = [client, upstream] as const
    pairs.add(pair)
    for (const [from, to] of [pair, pair.toReversed() as [Socket, Socket]] as const) {
      from.pipe(to)
      const end = () => {
        if (from === upstream && stranded.has(pair)) return
        to.destroy()
        pairs.delete(pair)
        stranded.delete(pair)
      }
      from.on('error', end)
      from.on('close', end)
    }
    const [most, upTo] = [longest, free]
    let own = 0
    // After the pipe's own listener: what it is called with was passed on.
    upstream.on('data', ({ length }: Buffer) => {
      carried += length
      own += length
      if (own >= upTo && own - length < upTo) pause(pair)
      if (own < most) return
      upstream.unpipe(client)
      client.end()
    })
    if (held) pause(pair)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const cut = () => {
    for (const [client, upstream] of pairs) {
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
  }
  const stop = async () => {
    if (!server.listening) return
    cut()
    for (const [client] of stranded) client.resetAndDestroy()
    server.close()
    await once(server, 'close')
  }
  return {
    url: withAddress(target, server.address() as AddressInfo),
    connections: () => pairs.size,
    cut,
    hold: () => {
      held = true
      for (const pair of pairs) pause(pair)
    },
    release: () => {
      held = false
      for (const [client, upstream] of pairs) {
        client.pipe(upstream)
        upstream.pipe(client)
      }
    },
    strand: () => {
      for (const pair of pairs) {
        pause(pair)
        stranded.add(pair)
      }
      pairs.clear()
    },
    endAfter: (bytes) => {
      longest = bytes
    },
    holdAfter: (bytes) => {
      free = bytes
    },
    carried: () => carried,
    refuse: () => {
      refusing = true
    },
    accept: () => {
      refusing = false
    },
    redirect: (other) => {
      upstreamUrl = new URL(other)
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

const pause = ([client, upstream]: readonly [Socket, Socket]): void => {
  client.unpipe(upstream).pause()
  upstream.unpipe(client).pause()
}

const withAddress = (target: string, { port }: AddressInfo): string =>
  target.replace(/(\/\/(?:[^@/]*@)?)[^/?]+/, `$1127.0.0.1:${port}`)
