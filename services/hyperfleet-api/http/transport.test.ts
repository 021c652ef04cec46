import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createTransport } from './transport.ts'

test('API-91: a reader that stops in the middle of an answer is hung up on', async () => {
  const handler = (_request: unknown, response: { end(body: Buffer): unknown }) =>
    response.end(Buffer.alloc(32_000_000))
  const server = createTransport(handler, { headers: 1_000, request: 1_000, idle: 200 }, undefined)
  server.listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    reader.destroy()
  })
  const connected = once(server, 'connection')
  await once(server, 'listening')
  const reader = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(reader, 'connect')
  reader.pause()
  reader.on('error', () => {})
  reader.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [socket] = (await connected) as [Socket]
  await once(socket, 'close')
  expect(socket.destroyed).toBe(true)
})
