import { getEventListeners } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { rootCertificates } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { PoolRequest } from './exchange.ts'
import { openPool, type PoolOptions } from './pool.ts'

/** A server of bytes: how many connections it has had, those that are open, and a pool to it, or through it. */
const world = async (behave: (socket: Socket) => void, options: (port: number) => PoolOptions = () => ({})) => {
  const open = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    open.add(socket)
    socket.on('error', () => undefined).on('close', () => open.delete(socket))
    // One that does not read would not notice its end.
    socket.resume()
    behave(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const pool = openPool(options(port))
  onTestFinished(() => {
    pool.destroy()
    for (const socket of open) socket.destroy()
    server.close()
  })
  const send = (protocol: 'http' | 'https', request: Partial<PoolRequest> = {}) =>
    pool.send({ server: new URL(`${protocol}://127.0.0.1:${port}`), path: '/', method: 'GET', headers: {}, ...request })
  return { pool, open, send, connections: () => connections }
}

/** Writes as long as it is read. */
const drip = (socket: Socket, text: string | Buffer): void => {
  const timer = setInterval(() => socket.write(text), 5)
  socket.once('close', () => clearInterval(timer))
}

/** A handshake message of TLS, of which 16 KiB are to come. */
const HANDSHAKE = Buffer.from([0x16, 3, 3, 0x3f, 0xff])

// RUNTIME-83
test.for<[string, (socket: Socket) => void]>([
  ['is silent', () => undefined],
  [
    'speaks byte by byte',
    (socket) => {
      socket.write(HANDSHAKE)
      drip(socket, '\u0002')
    },
  ],
])('a server that %s in its handshake is given up in time, also without another limit', async ([, behave]) => {
  const { send, pool, open } = await world(behave, () => ({ connectTimeout: 100 }))
  await expect(send('https')).rejects.toMatchObject({ name: 'HttpTimeout', code: 'CONNECT_TIMEOUT' })
  await pool.close()
  await expect.poll(() => open.size).toBe(0)
})

// RUNTIME-83
test.for<[string, (socket: Socket) => void]>([
  ['takes no tunnel and is silent', () => undefined],
  ['answers byte by byte', (socket) => drip(socket, 'x')],
  ['makes a tunnel to nothing', (socket) => socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))],
  [
    'makes a tunnel to a server that speaks byte by byte',
    (socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        socket.once('data', () => {
          socket.write(HANDSHAKE)
          drip(socket, '\u0002')
        })
      })
    },
  ],
  [
    'resets its tunnel',
    (socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\n', () => socket.resetAndDestroy()))
    },
  ],
  [
    'refuses',
    (socket) => socket.once('data', () => socket.write('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')),
  ],
])('a proxy that %s is given up in time, with nothing left of it', async ([, behave]) => {
  const { send, pool, open } = await world(behave, (port) => ({
    proxyUrl: `http://127.0.0.1:${port}`,
    connectTimeout: 100,
  }))
  await expect(send('https')).rejects.toThrow(/timed out|tunnel|disconnected|ECONNRESET/)
  const aborted = new AbortController()
  const asked = send('https', { signal: aborted.signal })
  aborted.abort(new Error('enough'))
  await expect(asked).rejects.toThrow('enough')
  const cut = send('https')
  pool.destroy()
  await expect(cut).rejects.toThrow('the connections were closed')
  await pool.close()
  await expect.poll(() => open.size).toBe(0)
})

/** A silent server, and a pool of two connections whose authorities are read from a file. */
const twoByFile = async () => {
  const file = join(await temporaryFolder('ca'), 'ca.crt')
  await writeFile(file, rootCertificates[0] ?? '')
  const silent = await world(
    () => undefined,
    () => ({ caFile: file, connections: 2 }),
  )
  return { ...silent, file }
}

// RUNTIME-87
test('no more connections are made than there may be, also while the authorities are being read', async () => {
  const { send, pool, connections } = await twoByFile()
  const asked = Promise.allSettled(Array.from({ length: 20 }, () => send('https')))
  await expect.poll(connections).toBe(2)
  await sleep(50)
  expect(connections()).toBe(2)
  pool.destroy()
  expect((await asked).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 'rejected'))
})

// RUNTIME-87
test('where connections can’t be made any more, what waits for them is told so', async () => {
  const { send, pool, open, file } = await twoByFile()
  const asked = Promise.allSettled(Array.from({ length: 7 }, () => send('https')))
  await expect.poll(() => open.size).toBe(2)
  await rm(file)
  for (const socket of open) socket.destroy()
  const messages = (await asked).map((one) => (one.status === 'rejected' ? (one.reason as Error).message : ''))
  expect(messages.slice(2)).toEqual(Array.from({ length: 5 }, () => expect.stringContaining('ENOENT')))
  await pool.close()
})

// RUNTIME-86
test.for([false, true])(
  'a connection that can’t even be begun ends its request, with authorities of a file: %s',
  async (hasFile) => {
    const file = join(await temporaryFolder('ca'), 'ca.crt')
    await writeFile(file, rootCertificates[0] ?? '')
    const lookup = () => {
      throw new Error('names are not looked up')
    }
    const { pool } = await world(
      () => undefined,
      () => ({ lookup, ...(hasFile && { caFile: file }) }),
    )
    const request = { server: new URL('https://some.example'), path: '/', method: 'GET', headers: {} }
    await expect(pool.send(request)).rejects.toThrow('names are not looked up')
    await pool.close()
  },
)

// RUNTIME-87
test('requests have their turns in the order in which they came, without those that were aborted, whatever becomes of the ones before', async () => {
  const asked: string[] = []
  const { send, pool, connections } = await world(
    (socket) =>
      socket.on('data', (data) => {
        const path = String(data).split(' ')[1] ?? ''
        asked.push(path)
        if (path.endsWith('/cut')) socket.destroy()
        else setTimeout(() => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'), 2)
      }),
    () => ({ connections: 1 }),
  )
  const { signal } = new AbortController()
  const aborted = new AbortController()
  const ways = Array.from({ length: 12 }, (_, n) => `/${n}${n % 4 === 1 ? '/cut' : n % 4 === 2 ? '/abort' : ''}`)
  const ends = ways.map(async (path) => {
    const { body } = await send('http', { path, signal: path.endsWith('/abort') ? aborted.signal : signal })
    await body.toArray()
  })
  aborted.abort(new Error('enough'))
  const ended = await Promise.allSettled(ends)
  expect(asked).toEqual(ways.filter((path) => !path.endsWith('/abort')))
  expect(ended.map(({ status }) => status === 'fulfilled')).toEqual(ways.map((path) => !/cut|abort/.test(path)))
  // The first, and one after each that was cut.
  expect(connections()).toBe(4)
  expect(getEventListeners(signal, 'abort')).toEqual([])
  await pool.close()
})

// RUNTIME-87
test('after thousands of requests, many of which failed, no connection is left and no listener', async () => {
  let count = 0
  const { send, pool, open } = await world(
    (socket) =>
      socket.on('data', () => {
        count += 1
        if (count % 3 === 0) socket.destroy()
        else if (count % 7 === 0) socket.write('nonsense\r\n')
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      }),
    () => ({ connections: 8 }),
  )
  const { signal } = new AbortController()
  const ended = await Promise.allSettled(
    Array.from({ length: 3_000 }, async () => (await send('http', { signal })).body.toArray()),
  )
  expect(ended.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(500)
  expect(ended.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(500)
  expect(getEventListeners(signal, 'abort')).toEqual([])
  expect(open.size).toBeLessThanOrEqual(8)
  await pool.close()
  await expect.poll(() => open.size).toBe(0)
})

// RUNTIME-86
test('a signal that was aborted before sends nothing, and nothing is sent over what was closed', async () => {
  const { send, pool, connections } = await world(() => undefined)
  await expect(send('http', { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')
  pool.destroy()
  await expect(send('http')).rejects.toThrow('the connections were closed')
  await expect(send('https')).rejects.toThrow('the connections were closed')
  expect(connections()).toBe(0)
})

// RUNTIME-86
test.for(['content-length', 'Transfer-Encoding', 'trailer', 'upgrade', 'expect'])(
  'a request with a header %s is not sent: two readers would see two requests in it',
  async (name) => {
    const { send, pool, connections } = await world(() => undefined)
    const request = { method: 'POST', headers: { [name]: 'chunked' }, body: 'GET /other HTTP/1.1' }
    await expect(send('http', request)).rejects.toThrow(`the header ${name} is written by the sender`)
    await pool.close()
    expect(connections()).toBe(0)
  },
)

// RUNTIME-83
test('a server that falls silent is noticed also after its answer was not read for a while', async () => {
  const { send } = await world((socket) => {
    const text = 'x'.repeat(2 ** 20)
    socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n`)
  })
  const { body } = await send('http', { silence: { before: 5_000, within: 50 } })
  await sleep(200)
  await expect(body.toArray()).rejects.toMatchObject({ code: 'BODY_TIMEOUT' })
})

// RUNTIME-83
test('each request has its own time, also one that equals how long a connection may be unused', async () => {
  const { send } = await world(
    (socket) =>
      socket.on('data', (data) => {
        if (data.includes('/quick')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
      }),
    () => ({ connections: 1, keepAlive: 100 }),
  )
  const quick = send('http', { path: '/quick', silence: { before: 60_000, within: 60_000 } })
  const silent = send('http', { silence: { before: 100, within: 100 } })
  const settled = expect(silent).rejects.toMatchObject({ code: 'ANSWER_TIMEOUT' })
  await (await quick).body.toArray()
  await settled
})

const ANSWERING_LATE = `
  const { parentPort } = require('node:worker_threads')
  const server = require('node:net').createServer((socket) => {
    socket.on('error', () => {}).once('data', () => {
      parentPort.postMessage('asked')
      setTimeout(() => socket.write('HTTP/1.1 200 OK\\r\\ncontent-length: 4\\r\\n\\r\\n12'), 100)
      setTimeout(() => socket.write('34'), 1_200)
    })
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

/** As a process that is busy or stopped, or a machine that sleeps. Timers that are due come next, before anything is read. */
const standStill = async (milliseconds: number): Promise<void> => {
  await turn()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

// RUNTIME-88
test('what has come while the process stood still is no silence of the server', async () => {
  const worker = new Worker(ANSWERING_LATE, { eval: true })
  const port = await new Promise<number>((resolve) => worker.once('message', resolve))
  const pool = openPool({})
  onTestFinished(async () => {
    pool.destroy()
    await worker.terminate()
  })
  const request = { server: new URL(`http://127.0.0.1:${port}`), path: '/', method: 'GET', headers: {} }
  const reached = new Promise((resolve) => worker.once('message', resolve))
  const asked = pool.send({ ...request, silence: { before: 400, within: 400 } })
  await reached
  await standStill(800)
  const { body } = await asked
  await standStill(800)
  expect(String(Buffer.concat(await body.toArray()))).toBe('1234')
})
