import { connect } from 'node:net'
import fc from 'fast-check'
import { request } from 'undici'
import { expect, test } from 'vitest'
import type { RunningApi } from '#services/hyperfleet-api/start.ts'
import { repetitions } from '#test/harness/deep.ts'
import { onBothDatabases, serve } from './support.ts'

/** What the document says of one operation; requests are made from it, so that a new operation is fuzzed from its first day. */
interface Described {
  readonly method: string
  readonly path: string
  readonly pathNames: readonly string[]
  readonly queryNames: readonly string[]
  readonly fields: readonly string[]
}

interface Shot {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** What a database, a driver or a stack trace would say, and no problem of ours does. */
const LEAK =
  /SQLITE_|sqlite3?\.|syntax error at or near|violates|relation "|column "|kysely|node:internal|node_modules|\.[cm]?[tj]s:\d+/i

const RUNS = repetitions({ deep: 3_000, slice: 250 })
/** Longer than any answer takes on a busy machine, shorter than a hang. */
const DEADLINE = 30_000

onBothDatabases((fresh) => {
  // API-47
  test('random requests at every operation are answered: never a 5xx, never a word about the inside, never a hang', async () => {
    const api = await serve(await fresh())
    const { id } = await api.cluster('there')
    await api.call('POST', `/clusters/${id}/nodepools`, { name: 'pool', spec: {} })
    await api.call('PUT', '/events/consumers/group', { resourceType: 'clusters' })
    const operations = await described(api)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...operations).chain((operation) => shots(operation, id)),
        async (shot) => judge(shot, await fire(api, shot)),
      ),
      { numRuns: RUNS, endOnFailure: true },
    )
    expect((await api.call('GET', '/clusters?size=100')).status).toBe(200)
  }, 300_000)
})

test('bytes that are no HTTP end that connection and nothing else', async () => {
  const api = await serve()
  await fc.assert(
    fc.asyncProperty(rubbish, async (bytes) => {
      const said = await dial(api, bytes)
      expect(said).not.toMatch(/^HTTP\/1\.1 5/)
      expect(said).not.toMatch(LEAK)
    }),
    { numRuns: repetitions({ deep: 300, slice: 20 }) },
  )
  expect((await api.call('GET', '/clusters')).status).toBe(200)
}, 120_000)

const described = async (api: RunningApi): Promise<readonly Described[]> => {
  const document = (await (await fetch(`${api.url}/api/hyperfleet/v1/openapi`)).json()) as Document
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      pathNames: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name),
      queryNames: parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name),
      fields: Object.keys(schemaOf(document, requestBody)),
    })),
  )
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: object }>> }
}

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly requestBody?: { readonly content?: Record<string, { readonly schema?: Record<string, unknown> }> }
}

const schemaOf = ({ components }: Document, body: Operation['requestBody']): object => {
  const schema: { $ref?: string; properties?: object } = body?.content?.['application/json']?.schema ?? {}
  const name = schema.$ref?.split('/').at(-1)
  return (name === undefined ? schema : components.schemas[name])?.properties ?? {}
}

const HOSTILE = [
  '',
  ' ',
  '\0',
  "'",
  '"; --',
  "') or (1=1",
  "kind='Secret') or (name='x",
  '%',
  '_',
  '\\',
  '../../etc/passwd',
  '[object Object]',
  '__proto__',
  'constructor',
  '9007199254740993',
  '-1',
  '1e309',
  'NaN',
  'null',
  'true',
  '💥\u{10ffff}',
  '\ud800',
  '('.repeat(500),
  'a='.repeat(600),
  'x'.repeat(2_000),
]

const hostile = fc.constantFrom(...HOSTILE)
const text = fc.oneof(hostile, fc.string({ maxLength: 40 }), fc.string({ unit: 'binary', maxLength: 20 }))
/** Bodies that hold a long poll for long are no fault; these don't. */
const short = fc.constantFrom('0s', '1ms', '-1s', '1', 's', 1, null)

const known = fc.oneof(
  fc.constantFrom(
    'clusters',
    'Cluster',
    'there',
    'group',
    'True',
    'Unknown',
    '30s',
    'asc',
    'name',
    'status.conditions',
  ),
  fc.constantFrom(
    "name='there'",
    "labels.a='b'",
    'generation > 1',
    'created_time desc',
    'a in (b,c)',
    '2026-01-01T00:00:00Z',
  ),
)
const value: fc.Arbitrary<unknown> = fc.oneof(
  text,
  known,
  fc.jsonValue({ maxDepth: 3 }),
  fc.integer(),
  fc.constant({ a: 1 }),
  fc.constant([{ type: 'Available', status: 'True' }]),
)

const bodies = (fields: readonly string[]): fc.Arbitrary<string | undefined> => {
  const shaped = fc.record(
    Object.fromEntries([...fields, 'extra', '__proto__'].map((name) => [name, name === 'wait' ? short : value])),
    { requiredKeys: [] },
  )
  return fc.oneof(
    { weight: 6, arbitrary: shaped.map((body) => JSON.stringify(body)) },
    { weight: 2, arbitrary: fc.jsonValue().map((body) => JSON.stringify(body)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('{', '[[[', '{"a":1}{"b":2}', '\u0000', '{"spec":{"a":'.repeat(300), 'nul'),
    },
    { weight: 1, arbitrary: fc.constant(undefined) },
  )
}

const shots = ({ method, path, pathNames, queryNames, fields }: Described, id: string): fc.Arbitrary<Shot> =>
  fc
    .record({
      method: fc.oneof(
        { weight: 9, arbitrary: fc.constant(method) },
        { weight: 1, arbitrary: fc.constantFrom('HEAD', 'OPTIONS', 'PUT', 'TRACE') },
      ),
      names: fc.array(fc.oneof(fc.constant(id), fc.constantFrom('group', 'dns'), text), {
        minLength: pathNames.length,
        maxLength: pathNames.length,
      }),
      query: fc.dictionary(fc.oneof(fc.constantFrom('x', ...queryNames), text), fc.oneof(text, known), { maxKeys: 4 }),
      headers: fc.record(
        {
          authorization: fc.oneof(
            header,
            header.map((token) => `Bearer ${token}`),
          ),
          'content-type': fc.oneof(fc.constantFrom('text/plain', 'application/json; charset=latin1'), header),
          accept: header,
          'last-event-id': header,
          traceparent: header,
          'x-request-id': header,
        },
        { requiredKeys: [] },
      ),
      body: bodies(fields),
    })
    .map(({ method: verb, names, query, headers, body }) => {
      const filled = pathNames.reduce(
        (filling, name, index) => filling.replace(`{${name}}`, () => escaped(names[index] ?? '')),
        path,
      )
      const asked = Object.entries(query).map(([key, wanted]) => `${escaped(key)}=${escaped(wanted)}`)
      return {
        method: verb,
        path: asked.length === 0 ? filled : `${filled}?${asked.join('&')}`,
        headers,
        body: ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'DELETE'].includes(verb) ? undefined : body,
      }
    })

/** What a client can put in a header at all. */
const header = fc.oneof(
  fc.string({ maxLength: 60 }).map((line) => line.replaceAll(/[^\x20-\x7e]/g, '').trim()),
  fc.constantFrom(
    'e30.e30.',
    'eyJhbGciOiJub25lIn0.e30.',
    'a.b.c',
    '00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01',
  ),
)

const escaped = (part: string): string => {
  try {
    return encodeURIComponent(part)
  } catch {
    return '%ED%A0%80'
  }
}

interface Answered {
  readonly status: number
  readonly type: string
  readonly text: string
}

const fire = async (api: RunningApi, { method, path, headers, body }: Shot): Promise<Answered> => {
  const over = new AbortController()
  const late = setTimeout(() => over.abort(new Error('no answer: a hang')), DEADLINE)
  try {
    const answer = await request(`${api.url}${path}`, {
      method: method as 'GET',
      headers,
      body: body ?? null,
      signal: over.signal,
    })
    const type = String(answer.headers['content-type'] ?? '')
    // A watch never ends by itself; that it began is the answer.
    const isStream = type.startsWith('text/event-stream')
    const said = isStream ? '' : await answer.body.text()
    if (isStream) answer.body.destroy()
    return { status: answer.statusCode, type, text: said }
  } finally {
    clearTimeout(late)
  }
}

const judge = (shot: Shot, { status, type, text: said }: Answered): void => {
  const about = JSON.stringify({ ...shot, status, said: said.slice(0, 500) })
  expect(status, about).toBeLessThan(500)
  expect(said, about).not.toMatch(LEAK)
  if (status >= 400 && status !== 405 && shot.method !== 'HEAD')
    expect(type, about).toContain('application/problem+json')
}

const rubbish = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom(
      'GET / HTTP/9.9\r\n\r\n',
      'GET /api/hyperfleet/v1/clusters HTTP/1.1\r\n\r\n',
      'POST /api/hyperfleet/v1/clusters HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n',
      'POST /api/hyperfleet/v1/clusters HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n',
      'POST /api/hyperfleet/v1/clusters HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      `GET /${'a'.repeat(70_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`,
      'GET /api/hyperfleet/v1/clusters/%ZZ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      'GET /api/hyperfleet/v1/clusters/%FF%FE?%=%&&&=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    )
    .map((line) => Buffer.from(line)),
)

/** Sends bytes, says that there are no more, and gives back what was answered until the server hung up. */
const dial = (api: RunningApi, bytes: Buffer): Promise<string> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(api.url)
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.end(bytes))
    socket.setTimeout(DEADLINE, () => socket.destroy(new Error('a hang')))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    // A reset is as good an end as a goodbye.
    socket.on('error', () => {})
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
  })
