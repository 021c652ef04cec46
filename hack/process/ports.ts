import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'

/** A TCP port of 127.0.0.1 that nobody listens on now. The kernel hands out another one each time, so two callers don't meet. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Whether somebody accepts connections on this port of 127.0.0.1. */
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
