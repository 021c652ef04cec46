import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { connectAgent, RefusedError } from './connect.ts'

const INFO = { server_id: 'S', version: '2.11.0', proto: 1, headers: true, max_payload: 1_048_576, jetstream: true }

/** A server that answers the first connections with an error, and lets the others in. */
const serverThatSays = async (error: string, times: number) => {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    const isRefused = connections <= times
    socket.on('error', () => {})
    socket.write(`INFO ${JSON.stringify(INFO)}\r\n`)
    socket.on('data', (data) => {
      if (isRefused) socket.end(`-ERR '${error}'\r\n`)
      else if (String(data).includes('PING')) socket.write('PONG\r\n')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const options = {
    url: `nats://127.0.0.1:${port}`,
    device: 'pump-17',
    authenticator: undefined,
    ca: undefined,
    clock: { ...systemClock, sleep: () => Promise.resolve() },
    log: silent,
  }
  return { options, count: () => connections, [Symbol.dispose]: () => server.close() }
}

// AGENT-19
test.for([
  ['Authentication Timeout', 4],
  ['Authorization Violation', 2],
] as const)('an agent to which a server says %s as often as %i times connects again', async ([error, times]) => {
  using busy = await serverThatSays(error, times)
  const connection = await connectAgent(busy.options, new AbortController().signal)
  await connection.close()
  expect(busy.count()).toBe(times + 1)
})

// AGENT-19
test('an agent that is refused three times in a row ends', async () => {
  using strict = await serverThatSays('Authorization Violation', 3)
  await expect(connectAgent(strict.options, new AbortController().signal)).rejects.toThrow(RefusedError)
  expect(strict.count()).toBe(3)
})
