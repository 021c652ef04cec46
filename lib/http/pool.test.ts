import { getEventListeners } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { PoolRequest } from './exchange.ts'
import { openPool, type PoolOptions } from './pool.ts'

/** A pool to a server that answers so, how many connections the server has had, and how it is asked. */
const world = async (answer: RequestListener, options: PoolOptions = {}) => {
  let connections = 0
  const server = createServer(answer).on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const pool = openPool(options)
  onTestFinished(() => {
    pool.destroy()
    server.closeAllConnections()
    server.close()
  })
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const send = (request: Partial<PoolRequest> = {}) =>
    pool.send({ server: url, path: '/', method: 'GET', headers: {}, ...request })
  const ask = async (request: Partial<PoolRequest> = {}) => {
    const { body } = await send(request)
    return (await body.setEncoding('utf8').toArray()).join('')
  }
  return { pool, send, ask, connections: () => connections }
}

test('a connection is used again, and no more are opened than there may be', async () => {
  const { ask, connections } = await world((_, response) => response.end('here'), { connections: 2 })
  for (let n = 0; n < 5; n++) expect(await ask()).toBe('here')
  expect(connections()).toBe(1)
  await Promise.all(Array.from({ length: 20 }, () => ask()))
  expect(connections()).toBe(2)
})

test('a body is sent whole, with its length in bytes', async () => {
  const { ask } = await world((request, response) => {
    response.write(`${request.method} ${request.headers['content-length']} ${request.headers['transfer-encoding']} `)
    request.pipe(response)
  })
  expect(await ask({ method: 'POST', body: 'ä'.repeat(3) })).toBe('POST 6 undefined äää')
})

// RUNTIME-83
test('a server that is silent before its answer, and one that falls silent within it, are given up after their times', async () => {
  const { ask } = await world((request, response) => {
    if (request.url === '/stops') response.write('one')
  })
  const silence = { before: 50, within: 20 }
  await expect(ask({ silence })).rejects.toMatchObject({ name: 'HttpTimeout', code: 'ANSWER_TIMEOUT' })
  await expect(ask({ path: '/stops', silence: { before: 60_000, within: 20 } })).rejects.toMatchObject({
    code: 'BODY_TIMEOUT',
  })
})

// RUNTIME-83
test('an answer that is not read is no silence of the server', async () => {
  const { send } = await world((_, response) => response.end(Buffer.alloc(4 * 2 ** 20)))
  const { body } = await send({ silence: { before: 1000, within: 30 } })
  await sleep(150)
  let bytes = 0
  for await (const chunk of body) bytes += (chunk as Buffer).length
  expect(bytes).toBe(4 * 2 ** 20)
})

// RUNTIME-83
test('a request that waits for a connection ends with its signal', async () => {
  const { ask } = await world(() => {}, { connections: 1 })
  const [first, second] = [new AbortController(), new AbortController()]
  const silent = ask({ signal: first.signal })
  const waiting = ask({ signal: second.signal })
  second.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  first.abort(new Error('all'))
  await expect(silent).rejects.toThrow('all')
})

test('a signal aborts an answer that is being read, and one that was read keeps its connection', async () => {
  const { send, ask, connections } = await world((request, response) => {
    if (request.url === '/goes-on') response.write('one')
    else response.end('here')
  })
  const ended = new AbortController()
  expect(await ask({ signal: ended.signal })).toBe('here')
  expect(getEventListeners(ended.signal, 'abort')).toEqual([])
  ended.abort(new Error('late'))
  expect(await ask()).toBe('here')
  expect(connections()).toBe(1)
  const running = new AbortController()
  const { body } = await send({ path: '/goes-on', signal: running.signal })
  const read = body.toArray()
  running.abort(new Error('enough'))
  await expect(read).rejects.toThrow('enough')
})

test('closing lets what is under way end, destroying does not', async () => {
  const answers: (() => void)[] = []
  const { pool, ask } = await world((_, response) => answers.push(() => response.end('here')))
  const asked = ask()
  await expect.poll(() => answers.length).toBe(1)
  const closed = pool.close()
  answers[0]?.()
  expect(await asked).toBe('here')
  await closed
  await expect(ask()).rejects.toThrow('the connections were closed')
  const { pool: other, ask: askOther } = await world((_, response) => answers.push(() => response.end('here')))
  const cut = askOther()
  await expect.poll(() => answers.length).toBe(2)
  other.destroy()
  await expect(cut).rejects.toThrow('the connections were closed')
})
