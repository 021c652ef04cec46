import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { expect, onTestFinished, test, vi } from 'vitest'
import { certificateFor } from '#test/harness/certificates.ts'
import { limitIdleConnections } from './socket-queue.ts'

const listen = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const open = async (port: number, secure = false): Promise<Socket> => {
  const socket = secure
    ? connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false })
    : connect(port, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await once(socket, secure ? 'secureConnect' : 'connect')
  socket.resume()
  return socket
}

const ask = (socket: Socket, path: string) => socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
const closed = (sockets: readonly Socket[]) => sockets.map((socket) => socket.closed)

// SECURITY-34
test('of idle connections the oldest goes, also after an answer; one with a request under way stays', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/once') response.end('here')
    else response.write('on and on')
  })
  limitIdleConnections(server, 3)
  const port = await listen(server)
  const busy = await open(port)
  ask(busy, '/')
  await once(busy, 'data')
  const answered = await open(port)
  const idle = [await open(port), await open(port)]
  ask(answered, '/once')
  await once(answered, 'data')
  // By its answer it is the youngest.
  idle.push(await open(port))
  await vi.waitFor(() => expect(closed([busy, answered, ...idle])).toEqual([false, false, true, false, false]))
})

// SECURITY-34
test('with TLS a connection counts once, before its handshake and after it', async () => {
  const server = createSecureServer(await certificateFor('it'), (_, response) => response.end('here'))
  limitIdleConnections(server, 3)
  const port = await listen(server)
  const first = [await open(port), await open(port, true), await open(port, true)]
  const last = await open(port, true)
  await vi.waitFor(() => expect(closed([...first, last])).toEqual([true, false, false, false]))
  await open(port)
  await vi.waitFor(() => expect(closed([...first, last])).toEqual([true, true, false, false]))
  ask(last, '/')
  await once(last, 'data')
})
