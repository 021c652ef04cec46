import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { trimChanges } from '#services/hyperfleet-api/feed/changes.ts'
import { openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { freshPostgres, type Message, onBothDatabases, openWatch, serve } from './support.ts'

const summary = ({ type, object }: Message) => (object.name === undefined ? type : `${type} ${object.name}`)
const isBookmark = ({ type }: Message) => type === 'bookmark'

onBothDatabases((fresh) => {
  test('begins with the present state, tells when that was all, and goes on with changes as they come', async () => {
    const api = await serve(await fresh())
    await api.cluster('one')
    await api.cluster('two')
    const stream = await openWatch(api, '/clusters?watch=true')
    expect((await stream.until(isBookmark)).map(summary)).toEqual(['added one', 'added two', 'bookmark'])
    const { id } = await api.cluster('three')
    expect(summary(await stream.next())).toBe('added three')
    await api.call('PATCH', `/clusters/${id}`, { spec: { a: 1 } })
    expect(await stream.next()).toMatchObject({ type: 'modified', object: { id, generation: 2, spec: { a: 1 } } })
    await api.report(`/clusters/${id}`, { adapter: 'dns', observed_generation: 2 })
    expect(await stream.next()).toMatchObject({ type: 'modified', object: { status: { phase: 'Ready' } } })
    await api.call('DELETE', `/clusters/${id}`)
    expect(await stream.next()).toMatchObject({ type: 'modified', object: { status: { phase: 'Deleting' } } })
    await api.report(`/clusters/${id}`, { adapter: 'dns', observed_generation: 3, finalized: 'True' })
    expect(await stream.next()).toMatchObject({ type: 'deleted', object: { id } })
  })

  test('versions only grow', async () => {
    const api = await serve(await fresh())
    const stream = await openWatch(api, '/clusters?watch=true')
    await stream.until(isBookmark)
    await Promise.all(Array.from({ length: 20 }, (_, n) => api.cluster(`c-${n}`)))
    const versions: number[] = []
    for (let n = 0; n < 20; n += 1) versions.push((await stream.next()).version ?? 0)
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(new Set(versions).size).toBe(20)
  })

  test('of a selection: entering it is added, leaving it is deleted', async () => {
    const api = await serve(await fresh())
    const { id } = await api.cluster('one', { region: 'us' })
    const stream = await openWatch(api, '/clusters?watch=true&labels=region%3Deu&fields=name')
    expect((await stream.until(isBookmark)).map(summary)).toEqual(['bookmark'])
    await api.call('PATCH', `/clusters/${id}`, { labels: { region: 'eu' } })
    expect(await stream.next()).toMatchObject({ type: 'added', object: { id, name: 'one' } })
    await api.call('PATCH', `/clusters/${id}`, { labels: { region: 'eu', tier: 'prod' } })
    expect(summary(await stream.next())).toBe('modified one')
    await api.cluster('unrelated', { region: 'us' })
    await api.call('PATCH', `/clusters/${id}`, { labels: { region: 'us' } })
    expect(await stream.next()).toEqual({ type: 'deleted', version: expect.any(Number), object: { id, name: 'one' } })
  })

  test('below a parent tells of that parent’s children only', async () => {
    const api = await serve(await fresh())
    const [one, two] = [await api.cluster('one'), await api.cluster('two')]
    const stream = await openWatch(api, `/clusters/${one.id}/nodepools?watch=true`)
    await stream.until(isBookmark)
    await api.call('POST', `/clusters/${two.id}/nodepools`, { name: 'theirs', spec: {} })
    await api.call('POST', `/clusters/${one.id}/nodepools`, { name: 'ours', spec: {} })
    expect(summary(await stream.next())).toBe('added ours')
  })

  test('resumes where a list or an earlier stream ended, and misses nothing in between', async () => {
    const api = await serve(await fresh())
    const { id } = await api.cluster('one')
    const list = await api.call('GET', '/clusters')
    const version = list.headers.get('muster-resource-version')
    await api.cluster('two')
    await api.call('PATCH', `/clusters/${id}`, { spec: { a: 1 } })
    const stream = await openWatch(api, `/clusters?watch=true&resourceVersion=${version}`)
    const missed = await stream.until(isBookmark)
    // What the list showed may come again.
    expect(missed.map(summary).slice(-3)).toEqual(['added two', 'modified one', 'bookmark'])
    stream.close()
    await api.cluster('three')
    const resumed = await openWatch(api, '/clusters?watch=true', { 'last-event-id': String(missed.at(-1)?.version) })
    expect((await resumed.until(isBookmark)).map(summary)).toEqual(['added three', 'bookmark'])
  })

  test('from a version that is forgotten, or was never there, is 410', async () => {
    const choice = await fresh()
    const api = await serve(choice)
    const answer = await api.call('GET', '/clusters?watch=true&resourceVersion=999')
    expect([answer.status, answer.body.code]).toEqual([410, 'HYPERFLEET-WCH-001'])
    if (choice.databaseUrl === undefined) return
    for (const name of ['one', 'two', 'three']) await api.cluster(name)
    const database = await openDatabase({ ...choice, onError: () => {} })
    onTestFinished(() => database.close())
    await trimChanges(database, { since: '2025-01-01T00:00:00.000000Z', most: 1 })
    expect((await api.call('GET', '/clusters?watch=true&resourceVersion=1')).status).toBe(410)
    const stream = await openWatch(api, '/clusters?watch=true&resourceVersion=2')
    expect((await stream.until(isBookmark)).map(summary)).toEqual(['added three', 'bookmark'])
  })

  test.each([
    'search=name%3D%27x%27',
    'order=name',
    'after=',
    'labels=a+in+(',
    'fields=nope',
    'resourceVersion=-1',
    'resourceVersion=x',
  ])('with %s is refused', async (query) => {
    const api = await serve(await fresh())
    expect((await api.call('GET', `/clusters?watch=true&${query}`)).status).toBe(400)
  })

  test('a reader that does not read is cut off with the reason, and the others get everything', async () => {
    const api = await serve(await fresh())
    const { hostname, port } = new URL(api.url)
    const slow = connect(Number(port), hostname)
    onTestFinished(() => void slow.destroy())
    slow.write('GET /api/hyperfleet/v1/clusters?watch=true HTTP/1.1\r\nHost: api\r\n\r\n')
    await new Promise((resolve) => slow.once('readable', resolve))
    const reader = await openWatch(api, '/clusters?watch=true&fields=generation')
    await reader.until(isBookmark)
    const { id } = await api.cluster('one')
    const filler = 'x'.repeat(900_000)
    const patches = 14
    for (let n = 0; n < patches; n += 1) await api.call('PATCH', `/clusters/${id}`, { spec: { n, filler } })
    await reader.until(({ object }) => object.generation === patches + 1)
    slow.setEncoding('utf8')
    let received = ''
    for await (const chunk of slow) {
      received += chunk
      if (received.includes('event: end')) break
    }
    expect(received.slice(received.indexOf('event: end'))).toContain('"reason":"SlowConsumer"')
  })

  test('stopping the server ends streams with the reason', async () => {
    const api = await serve(await fresh())
    const stream = await openWatch(api, '/clusters?watch=true')
    await stream.until(isBookmark)
    const stopped = api.stop()
    expect(await stream.next()).toMatchObject({ type: 'end', object: { reason: 'ServerStopping' } })
    await stopped
  })
})

describe.skipIf(findPostgres() === undefined)('two API processes on one PostgreSQL', () => {
  test('see each other’s changes', async () => {
    const choice = await freshPostgres()
    const [one, two] = [await serve(choice), await serve(choice)]
    const streams = [await openWatch(one, '/clusters?watch=true'), await openWatch(two, '/clusters?watch=true')]
    await Promise.all(streams.map((stream) => stream.until(isBookmark)))
    await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? one : two).cluster(`c-${n}`)))
    const seen = await Promise.all(
      streams.map(async (stream) => {
        const messages: Message[] = []
        while (messages.length < 40) messages.push(await stream.next())
        return messages.map(({ version, object }) => `${version} ${object.name}`)
      }),
    )
    expect(seen[0]).toEqual(seen[1])
    expect(new Set(seen[0]).size).toBe(40)
  })

  test('a change whose commit comes late is told, though a later version was committed before it', async () => {
    const choice = await freshPostgres()
    const api = await serve(choice)
    const database = await openDatabase({ ...choice, onError: () => {} })
    onTestFinished(() => database.close())
    const stream = await openWatch(api, '/clusters?watch=true&fields=name')
    await stream.until(isBookmark)
    const insert = (name: string) =>
      sql`with locked as materialized (select pg_advisory_xact_lock_shared(7233002::bigint))
        insert into changes (type, resource_id, kind, labels_before, labels, document, time)
        select 'added', ${name}, 'Cluster', '{}', '{}', ${JSON.stringify({ id: name, name })}, '2026-01-01T00:00:00.000000Z' from locked`
    await database.kysely.transaction().execute(async (late) => {
      await insert('late').execute(late)
      await api.cluster('early')
      // Longer than the feed looks again and again before it settles.
      await delay(200)
    })
    expect([summary(await stream.next()), summary(await stream.next())]).toEqual(['added late', 'added early'])
  })

  test('a version that was taken and then undone holds nothing up', async () => {
    const choice = await freshPostgres()
    const api = await serve(choice)
    const database = await openDatabase({ ...choice, onError: () => {} })
    onTestFinished(() => database.close())
    const stream = await openWatch(api, '/clusters?watch=true')
    await stream.until(isBookmark)
    await sql`select nextval(pg_get_serial_sequence('changes', 'version'))`.execute(database.kysely)
    await api.cluster('one')
    expect(summary(await stream.next())).toBe('added one')
  })

  test('changes that were forgotten before this process read them end its streams, which would miss them', async () => {
    const choice = await freshPostgres()
    const api = await serve(choice)
    const database = await openDatabase({ ...choice, onError: () => {} })
    onTestFinished(() => database.close())
    const stream = await openWatch(api, '/clusters?watch=true')
    await stream.until(isBookmark)
    await sql`select setval(pg_get_serial_sequence('changes', 'version'), 1000)`.execute(database.kysely)
    await sql`update change_floor set version = 1000`.execute(database.kysely)
    await api.cluster('one')
    expect(await stream.next()).toMatchObject({ type: 'end', object: { reason: 'ResourceVersionExpired' } })
  })

  test('starting at the same moment on an empty database both come up', async () => {
    const choice = await freshPostgres()
    const apis = await Promise.all([serve(choice), serve(choice), serve(choice)])
    await apis[0]?.cluster('one')
    for (const api of apis) expect((await api.call('GET', '/clusters')).body.total).toBe(1)
  })
})
