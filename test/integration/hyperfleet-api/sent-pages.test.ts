/** Pages come whole, byte for byte, to readers of every kind at once, while the bytes of pages that were sent are used again. */
import { writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectSecure } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { giveTo, serverAccount } from '#hack/postgres/postgres.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { certificateFor } from '#test/harness/certificates.ts'
import { repetitions } from '#test/harness/deep.ts'
import { postgresMissing, startPostgres } from '#test/harness/index.ts'
import { onBothDatabases, serve, type TestApi } from './support.ts'

/** A page of a hundred has 450 KB: more than both ends of a connection hold of one that is not read. */
const CLUSTERS = 100
const NOTE_CHARS = 2_600

const QUERIES = [
  'size=100',
  'size=100&order=name%20asc',
  'size=100&order=name%20desc',
  'size=100&search=name%3D%27none%27',
  'size=30&page=3',
  'size=1&page=50',
  'size=50&fields=id,spec',
] as const

interface Request {
  readonly query: (typeof QUERIES)[number]
  readonly how: 'GET' | 'HEAD' | 'gzip'
}

interface Reader {
  /** One after the other, over one connection. */
  readonly requests: readonly Request[]
  /** Milliseconds that it waits before it takes the next piece, in turn. */
  readonly pauses: readonly number[]
  /** Bytes after which it is gone. */
  readonly leavesAfter: number | undefined
}

const readers = fc.array(
  fc.record<Reader>({
    requests: fc.array(
      fc.record({ query: fc.constantFrom(...QUERIES), how: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'gzip') }),
      { minLength: 1, maxLength: 4 },
    ),
    pauses: fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }),
    leavesAfter: fc.option(fc.nat(900_000), { nil: undefined, freq: 2 }),
  }),
  { minLength: 4, maxLength: 12 },
)

/** Sends a request and takes its answer as slowly as the reader does. @returns undefined when it is gone before the end */
const ask = async (
  socket: Socket,
  { query, how }: Request,
  { pauses, leavesAfter = Infinity }: Pick<Reader, 'pauses' | 'leavesAfter'>,
): Promise<Buffer | undefined> => {
  const encoding = how === 'gzip' ? 'Accept-Encoding: gzip\r\n' : ''
  const method = how === 'HEAD' ? 'HEAD' : 'GET'
  socket.write(`${method} /api/hyperfleet/v1/clusters?${query} HTTP/1.1\r\nHost: api\r\n${encoding}\r\n`)
  let answer = Buffer.alloc(0)
  if (leavesAfter === 0) return undefined
  // As long as it waits, nothing is read.
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    answer = Buffer.concat([answer, piece as Buffer])
    if (answer.length >= leavesAfter) return undefined
    const head = answer.indexOf('\r\n\r\n')
    const [, length] = /^content-length: (\d+)/im.exec(answer.subarray(0, Math.max(head, 0)).toString()) ?? []
    const end = head + 4 + (how === 'HEAD' ? 0 : Number(length))
    if (head > 0) expect(length).toBeDefined()
    if (head > 0 && answer.length >= end) {
      expect(answer.subarray(0, 15).toString()).toBe('HTTP/1.1 200 OK')
      return how === 'gzip' && /^content-encoding: gzip/im.test(answer.subarray(0, head).toString())
        ? gunzipSync(answer.subarray(head + 4, end))
        : answer.subarray(head + 4, end)
    }
    await sleep(pauses[answer.length % pauses.length])
  }
  throw new Error('the connection ended before the answer did')
}

const nameOf = (n: number): string => `cluster-${String(n).padStart(3, '0')}`
const NAMES = Array.from({ length: CLUSTERS }, (_, n) => nameOf(n))
/** Another for each, so that no byte of one stands for that of another. */
const noteOf = (name: string): string => `${name}é`.repeat(NOTE_CHARS / name.length)

const fill = async (api: TestApi): Promise<void> => {
  for (const name of NAMES) {
    const { status } = await api.call('POST', '/clusters', { name, spec: { note: noteOf(name) } })
    expect(status).toBe(201)
  }
}

/** Readers of every kind at once get what one that is alone gets. @param ca of a server with TLS */
const holds = async (api: TestApi, ca?: string): Promise<void> => {
  const { hostname: host, port } = new URL(api.url)
  const open = (): Socket =>
    ca === undefined ? connect({ host, port: Number(port) }) : connectSecure({ host, port: Number(port), ca })
  const alone = async (request: Request): Promise<Buffer> => {
    const socket = open()
    const body = await ask(socket, request, { pauses: [0], leavesAfter: undefined })
    socket.destroy()
    if (body === undefined) throw new TypeError('it read to the end')
    return body
  }
  const meant = new Map<string, Buffer>()
  for (const query of QUERIES) meant.set(query, await alone({ query, how: 'GET' }))
  const { items } = JSON.parse(String(meant.get('size=100&order=name%20asc')))
  expect(items.map(({ name }: { name: string }) => name)).toEqual(NAMES)
  for (const { name, spec } of items) expect(spec.note === noteOf(name)).toBe(true)

  const read = async ({ requests, ...reader }: Reader): Promise<void> => {
    const socket = open()
    try {
      for (const request of requests) {
        const body = await ask(socket, request, reader)
        if (body === undefined) return
        const whole = request.how === 'HEAD' ? Buffer.alloc(0) : (meant.get(request.query) ?? Buffer.alloc(0))
        expect([request, body.length, body.equals(whole)]).toEqual([request, whole.length, true])
      }
    } finally {
      socket.destroy()
    }
  }
  await fc.assert(
    fc.asyncProperty(readers, async (all) => void (await Promise.all(all.map(read)))),
    { numRuns: repetitions({ deep: 500, slice: 12 }) },
  )
}

onBothDatabases((fresh) => {
  // API-175
  test('pages are whole to fast and slow readers, to those that leave, and compressed', async () => {
    const api = await serve(await fresh())
    await fill(api)
    await holds(api)
  })
})

describe.skipIf(findPostgres() === undefined)(
  `with TLS on both sides${findPostgres() ? '' : ` (skipped: ${postgresMissing()})`}`,
  () => {
    // API-175, API-176
    test('pages are whole to fast and slow readers, to those that leave, and compressed', async () => {
      const folder = await temporaryFolder('sent-pages')
      const [cert, key] = [join(folder, 'server.crt'), join(folder, 'server.key')]
      const pair = await certificateFor('server')
      await writeFile(cert, pair.cert)
      await writeFile(key, pair.key, { mode: 0o600 })
      // PostgreSQL runs as another user where this is root, and takes no key that others may read.
      for (const path of [folder, cert, key]) await giveTo(await serverAccount(), path)
      const postgres = await startPostgres(['ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`])
      onTestFinished(() => postgres[Symbol.asyncDispose]())
      const databaseUrl = `${postgres.url}?sslmode=verify-full&sslrootcert=${cert}`
      const plain = await serve({ databaseUrl })
      await fill(plain)
      await plain.stop()
      await holds(await serve({ databaseUrl, tls: { certFile: cert, keyFile: key } }), pair.cert)
    })
  },
)
