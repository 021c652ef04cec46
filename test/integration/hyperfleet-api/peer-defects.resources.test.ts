/** What goes wrong with requests, lists and deletions in the Go peer, each defect by name, and what happens here instead. */
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { manualClock } from '#test/harness/index.ts'
import { freshPostgres, type Json, onBothDatabases, serve } from './support.ts'

const entities = [
  { kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'] },
  { kind: 'NodePool', plural: 'nodepools', parent_kind: 'Cluster', required_adapters: ['machines'] },
  { kind: 'WifConfig', plural: 'wifconfigs' },
]

const finalized = { observed_generation: 2, available: 'False', applied: 'False', finalized: 'True' } as const

onBothDatabases((fresh) => {
  const begin = async () => {
    const clock = manualClock()
    const api = await serve({ ...(await fresh()), entities }, clock)
    const search = (text: string) => api.call('GET', `/clusters?search=${encodeURIComponent(text)}`)
    return { clock, api, search, call: api.call }
  }
  const names = ({ body }: Json) => body.items.map(({ name }: Json) => name)

  describe('a search', () => {
    // API-44
    test('with a parenthesis too many finds no other kind: it is refused', async () => {
      const { call, search } = await begin()
      await call('POST', '/wifconfigs', { name: 'secret', spec: {} })
      for (const text of ["kind='WifConfig') or (name='zz'", "name='zz') or (kind='WifConfig'"])
        expect((await search(text)).body).toMatchObject({ status: 400, code: 'HYPERFLEET-VAL-005' })
      expect((await search("kind='WifConfig' or name='secret'")).body.total).toBe(0)
    })

    test.each(['name in []', 'name', "generation='x'", "created_time>'then'", "name='a\0b'", "spec.a='a\0b'"])(
      'is 400 and never 500: %j',
      async (text) => {
        const { search } = await begin()
        const { status, body } = await search(text)
        expect([status, body.code]).toEqual([400, expect.stringMatching(/^HYPERFLEET-VAL-00[56]$/)])
        expect(JSON.stringify(body)).not.toMatch(/select |resources\.|pq:|SQLSTATE|node_modules/)
      },
    )

    test('that compares a text of the spec with a number finds nothing, instead of failing on the first text', async () => {
      const { call, search } = await begin()
      await call('POST', '/clusters', { name: 'one', spec: { region: 'eu', size: 1 } })
      expect(names(await search('spec.region=1'))).toEqual([])
      expect(names(await search('spec.size=1'))).toEqual(['one'])
    })

    test('knows labels with a hyphen in their key, and takes labels under not', async () => {
      const { api, search } = await begin()
      await api.cluster('one', { 'cost-centre': 'a', 'example.com/team-name': 'b' })
      await api.cluster('two', { 'cost-centre': 'c' })
      expect(names(await search("labels.cost-centre='a'"))).toEqual(['one'])
      expect(names(await search("labels.example.com/team-name='b'"))).toEqual(['one'])
      expect(names(await search("not labels.cost-centre='a'"))).toEqual(['two'])
    })
  })

  describe('a list', () => {
    test('with fields and nothing found has an empty list of items, not null', async () => {
      const { call } = await begin()
      expect((await call('GET', '/clusters?fields=name')).body).toEqual({ items: [], page: 1, size: 0, total: 0 })
    })

    test('ordered by what many have alike repeats and skips no resource from page to page', async () => {
      const { api, call } = await begin()
      const made = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => api.cluster(name)))
      const pages = await Promise.all([1, 2, 3].map((page) => call('GET', `/clusters?order=kind&size=2&page=${page}`)))
      const seen = pages.flatMap(({ body }) => body.items.map(({ id }: Json) => id))
      expect(seen).toHaveLength(made.length)
      expect(new Set(seen)).toEqual(new Set(made.map(({ id }) => id)))
    })

    test('names the parameters that it ignored: a misspelt one is not told from none otherwise', async () => {
      const { call } = await begin()
      const { status, headers } = await call('GET', '/clusters?size=1&pageSize=5&lables=a%3Db&%00%0d=x')
      expect([status, headers.get('muster-ignored')]).toEqual([200, 'pageSize,lables,%00%0D'])
      expect((await call('GET', '/clusters?size=1')).headers.has('muster-ignored')).toBe(false)
    })

    test('cuts no time to seconds when fields are chosen', async () => {
      const { clock, api, call } = await begin()
      await clock.advance('250ms')
      const { id, created_time } = await api.cluster('one')
      expect(created_time).toBe('2026-01-01T00:00:00.250000Z')
      expect((await call('GET', `/clusters/${id}?fields=created_time`)).body).toEqual({ id, created_time })
    })
  })

  describe('a request', () => {
    test('with NUL in its spec is 400, and one that is too large 413', async () => {
      const { call } = await begin()
      expect((await call('POST', '/clusters', { name: 'one', spec: { a: 'b\0' } })).status).toBe(400)
      const large = await call('POST', '/clusters', { name: 'one', spec: { a: 'b'.repeat(5 * 1024 * 1024) } })
      expect([large.status, large.body.code]).toEqual([413, 'HYPERFLEET-LMT-002'])
      expect((await call('GET', '/clusters')).body.total).toBe(0)
    })

    test('to nowhere, or with a method that is none there, has an id to look for in the log', async () => {
      const { call } = await begin()
      for (const [method, path, status] of [
        ['GET', '/nothing', 404],
        ['PUT', '/clusters', 405],
      ] as const) {
        const { body, headers } = await call(method, path)
        expect([body.status, body.trace_id]).toEqual([status, headers.get('x-request-id')])
        expect(body.trace_id).not.toBe('')
      }
    })

    // API-43
    test('that patches a part says what it replaces: labels stay when only the spec is given', async () => {
      const { api, call } = await begin()
      const { id } = await api.cluster('one', { region: 'eu' })
      const { body } = await call('PATCH', `/clusters/${id}`, { spec: { a: 1 } })
      expect([body.labels, body.spec, body.generation]).toEqual([{ region: 'eu' }, { a: 1 }, 2])
    })
  })

  describe('a deletion', () => {
    test('of a parent ends with the report that removes its last child: it needs no report of its own any more', async () => {
      const { api, call } = await begin()
      const { id } = await api.cluster('one')
      const pool = (await call('POST', `/clusters/${id}/nodepools`, { name: 'pool', spec: {} })).body
      await call('DELETE', `/clusters/${id}`)
      expect((await api.report(`/clusters/${id}`, { adapter: 'dns', ...finalized })).status).toBe(201)
      expect((await call('GET', `/clusters/${id}`)).body.status).toMatchObject({ phase: 'Deleting', awaited: [] })
      await api.report(`/nodepools/${pool.id}`, { adapter: 'machines', ...finalized })
      expect((await call('GET', `/clusters/${id}`)).status).toBe(404)
    })

    test('asked for again moves no time, updated_time included', async () => {
      const { clock, api, call } = await begin()
      const { id } = await api.cluster('one')
      const first = await call('DELETE', `/clusters/${id}`)
      await clock.advance('1m')
      expect((await call('DELETE', `/clusters/${id}`)).body).toEqual(first.body)
    })

    test('by force is told later: the archive has who did it and why, not only a log', async () => {
      const { api, call } = await begin()
      const { id } = await api.cluster('one')
      await call('DELETE', `/clusters/${id}`)
      await call('POST', `/clusters/${id}/force-delete`, { reason: 'its cloud is gone' })
      const { items } = (await call('GET', `/archive/clusters?id=${id}`)).body
      expect(items).toMatchObject([{ forced: { by: 'system@hyperfleet.local', reason: 'its cloud is gone' } }])
    })
  })
})

describe.skipIf(findPostgres() === undefined)('a transaction whose commit fails', () => {
  test('is no success: the caller is told, and nothing is stored', async () => {
    const { databaseUrl } = await freshPostgres()
    const { call } = await serve({ databaseUrl, entities })
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    onTestFinished(() => client.end())
    // Looked at when the transaction commits, not before.
    await client.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
      create constraint trigger refuse after insert on resources deferrable initially deferred
        for each row when (new.name = 'refused') execute function refuse()`)
    const refused = await call('POST', '/clusters', { name: 'refused', spec: {} })
    expect([refused.status, refused.body.code]).toEqual([500, 'HYPERFLEET-INT-001'])
    expect(JSON.stringify(refused.body)).not.toContain('not this one')
    expect((await call('POST', '/clusters', { name: 'taken', spec: {} })).status).toBe(201)
    expect((await call('GET', '/clusters')).body.items).toMatchObject([{ name: 'taken' }])
  })
})
