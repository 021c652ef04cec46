/** API-92: optimistic reads and writes, as HTTP has them. */
import { request } from 'undici'
import { expect, test } from 'vitest'
import { type Answer, onBothDatabases, serve } from './support.ts'

/** As of the answer without compression, which `fetch` asks for. */
const tagOf = ({ headers }: Answer): string => (headers.get('etag') ?? 'none').replace(/-gzip"$/, '"')
const ifMatch = (...tags: string[]) => ({ 'if-match': tags.join(', ') })
const ifNoneMatch = (tag: string) => ({ 'if-none-match': tag })

onBothDatabases((fresh) => {
  test('API-92: every answer with a record names its state, which changes with a patch and with a report', async () => {
    const api = await serve(await fresh())
    const made = await api.call('POST', '/clusters', {
      name: 'one',
      labels: { '2': 'b', '1': 'a' },
      spec: { z: 1, a: 2.5 },
    })
    const path = `/clusters/${made.body.id}`
    const read = () => api.call('GET', path)
    expect(tagOf(made)).toMatch(/^"[\w-]{43}"$/)
    for (const same of [path, `/resources/${made.body.id}`, `${path}?fields=name`])
      expect(tagOf(await api.call('GET', same))).toBe(tagOf(made))
    const patched = await api.call('PATCH', path, { spec: { a: 2 } })
    expect(tagOf(patched)).not.toBe(tagOf(made))
    expect(tagOf(await read())).toBe(tagOf(patched))
    // What changes nothing leaves it.
    expect(tagOf(await api.call('PATCH', path, { spec: { a: 2 } }))).toBe(tagOf(patched))
    await api.report(path, { adapter: 'dns', observed_generation: 2 })
    const reported = tagOf(await read())
    expect(reported).not.toBe(tagOf(patched))
    const deleted = await api.call('DELETE', path)
    expect(tagOf(deleted)).toBe(tagOf(await read()))
    expect(tagOf(deleted)).not.toBe(reported)
  })

  test('API-92: a write for a state that is over is 412 and does nothing; one for the present state is done', async () => {
    const api = await serve(await fresh())
    const made = await api.call('POST', '/clusters', { name: 'one', spec: {} })
    const path = `/clusters/${made.body.id}`
    const patched = await api.call('PATCH', path, { spec: { a: 1 } }, ifMatch(tagOf(made)))
    expect(patched.status).toBe(200)
    for (const [method, at, body] of [
      ['PATCH', path, { spec: { a: 2 } }],
      ['PATCH', `/resources/${made.body.id}`, { spec: { a: 2 } }],
      ['DELETE', path, undefined],
      ['DELETE', `${path}?dry_run=true`, undefined],
    ] as const) {
      for (const headers of [
        ifMatch(tagOf(made)),
        ifMatch('"a"', `W/${tagOf(patched)}`),
        ifNoneMatch(`W/${tagOf(patched)}`),
      ]) {
        const refused = await api.call(method, at, body, headers)
        expect([method, refused.status, refused.headers.get('content-type')]).toEqual([
          method,
          412,
          'application/problem+json',
        ])
        expect(refused.body).toMatchObject({ code: 'HYPERFLEET-CNF-005', status: 412 })
      }
    }
    expect(tagOf(await api.call('GET', path))).toBe(tagOf(patched))
    expect((await api.call('PATCH', path, { spec: { a: 2 } }, { 'if-match': 'unquoted' })).status).toBe(400)
    // What would be refused anyway is refused as before.
    expect((await api.call('PATCH', '/clusters/none', { spec: {} }, ifMatch('"a"'))).status).toBe(404)
    expect((await api.call('PATCH', path, { spec: 1 }, ifMatch('"a"'))).status).toBe(400)
    const deleted = await api.call('DELETE', path, undefined, ifMatch('"a"', tagOf(patched)))
    expect(deleted.status).toBe(202)
    const { id } = await api.cluster('two')
    await api.report(`/clusters/${id}`, { adapter: 'dns' })
    await api.call('DELETE', `/clusters/${id}`)
    expect((await api.call('PATCH', `/clusters/${id}`, { spec: {} }, ifMatch('"a"'))).status).toBe(409)
  })

  test('API-92: of writers who have read the same state one succeeds', async () => {
    const api = await serve(await fresh())
    const made = await api.call('POST', '/clusters', { name: 'one', spec: {} })
    const path = `/clusters/${made.body.id}`
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => api.call('PATCH', path, { spec: { n } }, ifMatch(tagOf(made)))),
    )
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['200', ...Array(7).fill('412')])
    expect((await api.call('GET', path)).body.generation).toBe(2)
    expect((await api.call('PATCH', path, { spec: { n: 9 } }, ifMatch('*'))).status).toBe(200)
  })

  test('API-92: a report is taken for the state of the reports that its sender has read', async () => {
    const api = await serve(await fresh())
    const { id } = await api.cluster('one')
    const path = `/clusters/${id}/statuses`
    const none = await api.call('GET', path)
    const report = (adapter: string, headers: Record<string, string>) => {
      const conditions = ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' }))
      return api.call('PUT', path, { adapter, observed_generation: 1, conditions }, headers)
    }
    expect((await report('dns', ifMatch(tagOf(none)))).status).toBe(201)
    expect((await report('network', ifMatch(tagOf(none)))).status).toBe(412)
    const first = await api.call('GET', path)
    expect(first.body.total).toBe(1)
    expect((await api.call('GET', path, undefined, ifNoneMatch(tagOf(first)))).status).toBe(304)
    expect((await report('network', ifMatch(tagOf(first)))).status).toBe(201)
    const second = await api.call('GET', path)
    const adapters = Array.from({ length: 8 }, (_, n) => `adapter-${n}`)
    const answers = await Promise.all(adapters.map((adapter) => report(adapter, ifMatch(tagOf(second)))))
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['201', ...Array(7).fill('412')])
    // What has no states is not written for one.
    const group = { resourceType: 'clusters' }
    expect((await api.call('PUT', '/events/consumers/dns', group, ifMatch(tagOf(first)))).status).toBe(412)
    expect((await api.call('PUT', '/events/consumers/dns', group)).status).toBe(201)
    expect((await api.call('DELETE', `${path}/dns`, undefined, ifMatch(tagOf(first)))).status).toBe(412)
  })

  test('API-92: who has a state already is told so without it, compressed or not', async () => {
    const api = await serve(await fresh())
    const made = await api.call('POST', '/clusters', { name: 'one', spec: { text: 'x'.repeat(5_000) } })
    const path = `/clusters/${made.body.id}`
    const tag = tagOf(made)
    const get = async (headers: Record<string, string>) => {
      const { statusCode, headers: answered, body } = await request(`${api.url}/api/hyperfleet/v1${path}`, { headers })
      return { status: statusCode, tag: answered.etag, bytes: (await body.bytes()).byteLength }
    }
    const compressed = await get({ 'accept-encoding': 'gzip' })
    expect(compressed).toMatchObject({ status: 200, tag: `${tag.slice(0, -1)}-gzip"` })
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, String(compressed.tag)])
      expect(await get({ 'if-none-match': known, 'accept-encoding': 'gzip' })).toMatchObject({ status: 304, bytes: 0 })
    expect((await get({ 'if-none-match': '"other"' })).status).toBe(200)
    expect((await get({ 'if-match': '"other"' })).status).toBe(412)
    // The tag of a compressed answer serves to write, too.
    expect((await api.call('PATCH', path, { spec: {} }, ifMatch(String(compressed.tag)))).status).toBe(200)
    expect((await get({ 'if-none-match': tag })).status).toBe(200)
  })
})
