import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openPool } from './pool.ts'

type Behaviour = (socket: Socket) => void

/** Writes as long as it is read. */
const drip = (socket: Socket, text: string): void => {
  const timer = setInterval(() => socket.write(text), 5)
  socket.once('close', () => clearInterval(timer))
}

const chunkedHead = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n'

/** What a server does with the first bytes of a request. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  answers: (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
  'answers nothing but a status': (socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'),
  'answers and closes': (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nok'),
  'answers and does not read on': (socket) => {
    socket.pause().write('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nok')
  },
  'refuses, announces its end and does not read on': (socket) => {
    socket.pause().write('HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok')
  },
  'refuses, ends its half and does not read on': (socket) => {
    socket.pause().end('HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok')
  },
  'reads nothing': (socket) => socket.pause(),
  'refuses and cuts': (socket) => {
    socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nok')
    socket.destroy()
  },
  'ends at once': (socket) => socket.end(),
  'resets at once': (socket) => socket.resetAndDestroy(),
  'is silent': () => undefined,
  'wants another protocol': (socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
  },
  'speaks another protocol': (socket) => socket.write('SSH-2.0-OpenSSH\r\n'),
  'tells the client to continue, and answers': (socket) => {
    socket.write(
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
    )
  },
  'has early hints for ever': (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'),
  'has headers for ever': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    drip(socket, `x-${'a'.repeat(500)}: ${'b'.repeat(500)}\r\n`)
  },
  'writes its headers byte by byte': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx:')
    drip(socket, 'a')
  },
  'says its length twice': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok')
  },
  'has a length and chunks': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n')
  },
  'folds a header': (socket) => socket.write('HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 2\r\n\r\nok'),
  'says a length below 0': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nok'),
  'sends less than it says': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nok'),
  'sends more than it says': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok and more'),
  'answers twice': (socket) => {
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
    socket.write(answer + answer)
  },
  'stops within its body': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nok'),
  'resets within its body': (socket) => {
    socket.write(chunkedHead, () => socket.resetAndDestroy())
  },
  'breaks its chunks': (socket) => socket.write(`${chunkedHead}zz\r\n`),
  'has trailers': (socket) => socket.write(`${chunkedHead}0\r\nx: y\r\n\r\n`),
  'has trailers for ever': (socket) => {
    socket.write(`${chunkedHead}0\r\n`)
    drip(socket, `x-${'a'.repeat(1_000)}: y\r\n`)
  },
  'extends a chunk for ever': (socket) => {
    socket.write(`${chunkedHead}2;`)
    drip(socket, 'a'.repeat(1_000))
  },
}

const STAGES = ['never', 'before', 'at once', 'connected', 'asked', 'answered', 'reading', 'read'] as const
type Stage = (typeof STAGES)[number]

/** A server that does so, and answers `/good` well, and how many connections it has open. */
const serve = async (behave: Behaviour, on: (stage: Stage) => void) => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    on('connected')
    let isAsked = false
    socket.on('data', (data) => {
      if (data.includes('GET /good ')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood')
      else if (!isAsked) {
        isAsked = true
        behave(socket)
        on('asked')
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), sockets, close }
}

const LIMIT_MS = 5_000

/** @throws Error when the work has not ended in time */
const ends = async <T>(work: Promise<T>, what: string): Promise<T> => {
  const stop = new AbortController()
  const late = sleep(LIMIT_MS, undefined, { signal: stop.signal }).then(() => {
    throw new Error(`no end of ${what}`)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    stop.abort()
    late.catch(() => undefined)
  }
}

/** What a reader would be told that says nothing to a person. */
const UNCLEAR = ['', 'aborted', 'Premature close']

const meet = async (behave: Behaviour, stage: Stage, body: string | undefined): Promise<void> => {
  const abort = new AbortController()
  const reached = (now: Stage) => now === stage && abort.abort(new Error('enough'))
  const { url, sockets, close } = await serve(behave, reached)
  const pool = openPool({ connections: 1 })
  const silence = { before: 150, within: 150 }
  const send = async () => {
    const method = body === undefined ? 'GET' : 'POST'
    const asked = pool.send({ server: url, method, path: '/', headers: {}, body, signal: abort.signal, silence })
    reached('at once')
    const answer = await asked
    reached('answered')
    for await (const chunk of answer.body) if (String(chunk) !== '') reached('reading')
    reached('read')
  }
  try {
    reached('before')
    const ended = send().then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    const error: unknown = await ends(ended, `a request with ${body?.length ?? 0} bytes, aborted ${stage}`)
    if (error !== undefined) expect(error).toBeInstanceOf(Error)
    if (error !== undefined) expect(UNCLEAR).not.toContain((error as Error).message)
    // Over a connection that the server is about to end, or does not read any more, the first may get no answer.
    const good = async () => {
      const { body: answer } = await pool.send({ server: url, method: 'GET', path: '/good', headers: {}, silence })
      return (await answer.setEncoding('utf8').toArray()).join('')
    }
    expect(await ends(good().catch(good), `the request after one, aborted ${stage}`)).toBe('good')
    await ends(pool.close(), `closing, aborted ${stage}`)
    for (const socket of sockets) socket.resume()
    await expect.poll(() => sockets.size).toBe(0)
  } finally {
    pool.destroy()
    close()
  }
}

// RUNTIME-86
test.for(Object.entries(BEHAVIOURS))(
  'a server that %s: whenever a request is aborted it ends once and clearly, the next is answered, and no connection is left',
  async ([, behave]) => {
    // More than what the two machines hold for a server that does not read.
    const large = 'x'.repeat(6 * 2 ** 20)
    const uploads = (['never', 'asked', 'answered', 'read'] as const).map((stage) => meet(behave, stage, large))
    await Promise.all([...STAGES.map((stage) => meet(behave, stage, undefined)), ...uploads])
  },
)
