import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/**
 * Below those that Linux hands out by itself (from 32768), to outgoing connections as well: a server that is started a moment later,
 * or once more after a minute, finds its port still free.
 */
const [LOWEST, HIGHEST] = [10_000, 32_767]

const handedOut = new Set<number>()

/** A TCP port of 127.0.0.1 that no process listens on now; another one at each call. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST + 1)
    if (handedOut.has(port) || !(await isFree(port))) continue
    handedOut.add(port)
    return port
  }
}

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}

/** Whether a process accepts connections on this port of 127.0.0.1. */
export const accepts = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
