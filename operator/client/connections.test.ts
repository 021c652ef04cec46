import { expect, test } from 'vitest'
import { scriptedServer } from '#test/harness/scripted-server.ts'
import { connectionsTo } from './connections.ts'

// RUNTIME-89
test('closing also cuts streams over connections with older credentials, which go on until then', async () => {
  await using server = await scriptedServer((_request, response) => response.writeHead(200).write('one'))
  const connections = connectionsTo(undefined, undefined)
  const stream = async () => {
    const request = { server: new URL(server.url), method: 'GET', path: '/', headers: {} }
    const { body } = await connections.over({}).streams.send(request)
    return body[Symbol.asyncIterator]() as NodeJS.AsyncIterator<Buffer>
  }
  const streams = [await stream(), await stream(), await stream()]
  for (const one of streams) expect(String((await one.next()).value)).toBe('one')
  connections.close()
  for (const one of streams) await expect(one.next()).rejects.toThrow('the connections were closed')
})
