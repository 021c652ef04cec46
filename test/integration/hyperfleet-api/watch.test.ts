import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { databaseSource } from '#services/hyperfleet-api/feed/change-source.ts'
import { readChanges, readFloor, trimChanges } from '#services/hyperfleet-api/feed/changes.ts'
import { createFeed } from '#services/hyperfleet-api/feed/feed.ts'
import { createLiveMessages } from '#services/hyperfleet-api/feed/live-messages.ts'
import { watch } from '#services/hyperfleet-api/feed/watch.ts'
import { type Database, openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { createRoom } from '#services/hyperfleet-api/storage/room.ts'
import { tcpProxy } from '#test/harness/index.ts'
import { freshPostgres, type Message, onBothDatabases, openWatch, serve } from './support.ts'

const summary = ({ type, object }: Message) => (object.name === undefined ? type : `${type} ${object.name}`)
const isBookmark = ({ type }: Message) => type === 'bookmark'

onBothDatabases((fresh) => {
  // API-38
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

  // API-39
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
    expect(await stream.next()).toMatchObject({
      type: 'deleted',
      version: expect.any(Number),
      object: { id, name: 'one' },
    })
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

  // API-38
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

  // API-41
  test('from a version that is forgotten, or was never there, is 410', async () => {
    const choice = await fresh()
    const api = await serve(choice)
    const answer = await api.call('GET', '/clusters?watch=true&resourceVersion=999')
    expect([answer.status, answer.body.code]).toEqual([410, 'HYPERFLEET-WCH-001'])
    if (choice.databaseUrl === undefined) return
    for (const name of ['one', 'two', 'three']) await api.cluster(name)
    const database = await openDatabase({ ...choice, onError: () => {} })
    onTestFinished(() => database.close())
    await trimChanges(database, { since: '2025-01-01T00:00:00.000000Z', maxChanges: 1 })
    const floor = await readFloor(database.kysely)
    expect((await api.call('GET', `/clusters?watch=true&resourceVersion=${floor - 1}`)).status).toBe(410)
    const stream = await openWatch(api, `/clusters?watch=true&resourceVersion=${floor}`)
    expect((await stream.until(isBookmark)).map(summary)).toEqual(['added three', 'bookmark'])
  })

  // API-41. That it is there was looked at before; it may be forgotten by then.
  test.each([
    ['some', 3],
    ['all', 5],
  ])(
    'from a version after which %s was forgotten before it is read ends, and leaves nothing out',
    async (_much, forgotten) => {
      const database = await openDatabase({ ...(await fresh()), onError: () => {} })
      onTestFinished(() => database.close())
      const change = {
        type: 'added',
        kind: 'Cluster',
        labels_before: '{}',
        labels: '{}',
        document: '{}',
        time: '',
      } as const
      for (const name of ['1', '2', '3', '4', '5'])
        await database.kysely
          .insertInto('changes')
          .values({ ...change, resource_id: name })
          .execute()
      const changes = await readChanges(database.kysely, { after: 0, limit: 5 })
      const at = (n: number) => changes[n - 1]?.version ?? 0
      await database.kysely
        .updateTable('change_floor')
        .set({ version: at(forgotten) })
        .execute()
      await database.kysely.deleteFrom('changes').where('version', '<=', at(forgotten)).execute()
      const feed = await createFeed(databaseSource(database, systemClock), { onWake: () => () => undefined }, silent)
      onTestFinished(() => feed.close())
      const told: string[] = []
      const stop = new AbortController()
      const sink = {
        // Whatever is told, it ends: otherwise it would go on for good.
        write: (bytes: string | Buffer) => {
          stop.abort()
          return told.push(String(bytes))
        },
        drained: async () => {},
        signal: stop.signal,
        caller: 'one',
        cutOff: () => false,
      }
      const subscription = { kind: 'Cluster', selector: [], fields: undefined, projection: undefined, position: String }
      const sources = { database, feed, room: createRoom(1024, systemClock), live: createLiveMessages(1024) }
      const ended = await watch(sources, subscription, at(1), sink)
      expect([ended, told]).toEqual(['ResourceVersionExpired', []])
    },
  )

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

  // API-41
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

  test('one that was cut off loses nothing when it resumes from the last message that it has', async () => {
    const api = await serve(await fresh())
    const { hostname, port } = new URL(api.url)
    const slow = connect(Number(port), hostname)
    onTestFinished(() => void slow.destroy())
    slow.write('GET /api/hyperfleet/v1/clusters?watch=true HTTP/1.1\r\nHost: api\r\n\r\n')
    await new Promise((resolve) => slow.once('readable', resolve))
    const { id } = await api.cluster('one')
    const filler = 'x'.repeat(900_000)
    const patches = 14
    for (let n = 1; n <= patches; n += 1) await api.call('PATCH', `/clusters/${id}`, { spec: { n, filler } })
    slow.setEncoding('utf8')
    let received = ''
    for await (const chunk of slow) {
      received += chunk
      if (received.includes('event: end')) break
    }
    // A message that was cut in its middle is none: after ten seconds the server waits for a slow reader no longer.
    received = received.slice(0, received.lastIndexOf('\n\n') + 2)
    const generations = [...received.matchAll(/"generation":(\d+)/g)].map(([, generation]) => Number(generation))
    const last = [...received.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1]
    const resumed = await openWatch(api, '/clusters?watch=true&fields=generation', { 'last-event-id': String(last) })
    const rest = (await resumed.until(isBookmark)).filter(({ type }) => type !== 'bookmark')
    const seen = [...generations, ...rest.map(({ object }) => object.generation)]
    expect(rest.length).toBeGreaterThan(0)
    expect(seen).toEqual(Array.from({ length: patches + 1 }, (_, n) => n + 1))
  })

  test('a thousand subscribers get every change', async () => {
    const api = await serve(await fresh())
    const { hostname, port } = new URL(api.url)
    const streams = Array.from({ length: 1_000 }, () => {
      const socket = connect(Number(port), hostname).setEncoding('utf8')
      onTestFinished(() => void socket.destroy())
      socket.write('GET /api/hyperfleet/v1/clusters?watch=true&fields=name HTTP/1.1\r\nHost: api\r\n\r\n')
      const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<string[]>()]
      let received = ''
      socket.on('data', (text) => {
        received += String(text)
        if (received.includes('event: bookmark')) begun.resolve()
        const names = [...received.matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name ?? '')
        if (names.at(-1) === 'last') done.resolve(names)
      })
      return { begun: begun.promise, done: done.promise }
    })
    await Promise.all(streams.map(({ begun }) => begun))
    for (const name of ['one', 'two', 'last']) await api.cluster(name)
    const all = await Promise.all(streams.map(({ done }) => done))
    expect(new Set(all.map((names) => names.join()))).toEqual(new Set(['one,two,last']))
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

/** An API with a stream that has told all there was, and its database from outside. */
const watchedBeside = async (path: string) => {
  const choice = await freshPostgres()
  const api = await serve(choice)
  const database = await openDatabase({ ...choice, onError: () => {} })
  onTestFinished(() => database.close())
  const stream = await openWatch(api, path)
  await stream.until(isBookmark)
  return { api, database, stream }
}

/** As if many changes had been made and trimmed by others. @returns the newest of them */
const forgetMany = async ({ kysely }: Database): Promise<number> => {
  const { rows } = await sql<{ version: number }>`select setval(pg_get_serial_sequence('changes', 'version'),
    nextval(pg_get_serial_sequence('changes', 'version')) + 1000) as version`.execute(kysely)
  const version = rows[0]?.version ?? 0
  await sql`update change_floor set version = ${version}`.execute(kysely)
  return version
}

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
    const versions = seen[0]?.map((line) => Number.parseInt(line, 10)) ?? []
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
  })

  test('a stream goes on at any of them where another one ended it, while both are written to', async () => {
    const choice = await freshPostgres()
    const [one, two] = [await serve(choice), await serve(choice)]
    const names = Array.from({ length: 60 }, (_, n) => `c-${n}`)
    const writing = Promise.all(names.map((name, n) => (n % 2 === 0 ? one : two).cluster(name)))
    const seen: string[] = []
    let position = '0'
    for (let turn = 0; new Set(seen).size < names.length; turn += 1) {
      const stream = await openWatch(turn % 2 === 0 ? one : two, '/clusters?watch=true&fields=name', {
        'last-event-id': position,
      })
      // A few at a time, so that the stream changes its server again and again.
      for (let taken = 0; taken < 7 && new Set(seen).size < names.length; taken += 1) {
        const message = await stream.next()
        position = String(message.version)
        if (message.type === 'added') seen.push(message.object.name)
      }
      stream.close()
    }
    await writing
    expect(seen.toSorted()).toEqual(names.toSorted())
  })

  test('a replica whose connections break, the listening one too, tells what it missed', async () => {
    const choice = await freshPostgres()
    const proxy = await tcpProxy(choice.databaseUrl)
    onTestFinished(() => proxy.stop())
    const [one, two] = [await serve(choice), await serve({ databaseUrl: proxy.url })]
    const stream = await openWatch(two, '/clusters?watch=true&fields=name')
    await stream.until(isBookmark)
    for (const name of ['first', 'second', 'third']) {
      proxy.refuse()
      proxy.cut()
      await one.cluster(name)
      proxy.accept()
      expect(summary(await stream.next())).toBe(`added ${name}`)
    }
  })

  test('a writer that hangs in its transaction holds up the streams, not the other writers', async () => {
    const choice = await freshPostgres()
    const warned = Promise.withResolvers<void>()
    const api = await serve({ ...choice, log: { ...silent, warn: () => warned.resolve() } })
    const database = await openDatabase({ ...choice, onError: () => {} })
    onTestFinished(() => database.close())
    const stream = await openWatch(api, '/clusters?watch=true&fields=name')
    await stream.until(isBookmark)
    await database.kysely.transaction().execute(async (hanging) => {
      await sql`select pg_advisory_xact_lock_shared(7233002::bigint), nextval(pg_get_serial_sequence('changes', 'version'))`.execute(
        hanging,
      )
      await api.cluster('one')
      const lockRequests = sql`select mode from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock'`
      let isWarned = false
      void warned.promise.then(() => {
        isWarned = true
      })
      // API-72. Asked for alone, the lock of the writers would keep all of them waiting behind the one that hangs.
      while (!isWarned) expect((await lockRequests.execute(database.kysely)).rows).toEqual([])
      expect((await api.call('POST', '/clusters', { name: 'two', spec: {} })).status).toBe(201)
    })
    expect([summary(await stream.next()), summary(await stream.next())]).toEqual(['added one', 'added two'])
  })

  // API-72. Where there is always one that writes, waiting for those that come later would have no end.
  test('a gap is settled when those that wrote have ended, though others write by then', async () => {
    const database = await openDatabase({ ...(await freshPostgres()), onError: () => {} })
    onTestFinished(() => database.close())
    const begin = async () => {
      const writer = await database.kysely.startTransaction().execute()
      await sql`select pg_advisory_xact_lock_shared(7233002::bigint)`.execute(writer)
      return writer
    }
    const earlier = await begin()
    let later: typeof earlier | undefined
    const kysely = database.kysely.withPlugin({
      transformQuery: ({ node }) => node,
      // Between the first look at the writers and the second.
      transformResult: async ({ result }) => {
        if (later === undefined) {
          later = await begin()
          await earlier.rollback().execute()
        }
        return result
      },
    })
    const source = databaseSource({ ...database, kysely }, systemClock)
    const floor = await readFloor(database.kysely)
    try {
      expect(await source.stableVersion()).toBe(floor)
    } finally {
      await later?.rollback().execute()
    }
  })

  // API-74
  test('two replicas that trim at once never lower what is forgotten', async () => {
    const database = await openDatabase({ ...(await freshPostgres()), onError: () => {} })
    onTestFinished(() => database.close())
    await sql`insert into changes (version, type, resource_id, kind, labels_before, labels, document, time)
      select n, 'added', n::text, 'Cluster', '{}', '{}', '{}', '2026-01-01T00:00:00.000000Z'
      from generate_series(1, 100) as n`.execute(database.kysely)
    let slower: Promise<void> | undefined
    await database.kysely.transaction().execute(async (faster) => {
      await sql`update change_floor set version = 90`.execute(faster)
      slower = trimChanges(database, { since: '2025-01-01T00:00:00.000000Z', maxChanges: 50 })
      const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      while ((await waiting.execute(database.kysely)).rows.length === 0) await delay(10)
    })
    await slower
    expect(await readFloor(database.kysely)).toBe(90)
  })

  // API-40
  test('a change whose commit comes late is told, though a later version was committed before it', async () => {
    const { api, database, stream } = await watchedBeside('/clusters?watch=true&fields=name')
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
    const { api, database, stream } = await watchedBeside('/clusters?watch=true')
    await sql`select nextval(pg_get_serial_sequence('changes', 'version'))`.execute(database.kysely)
    await api.cluster('one')
    expect(summary(await stream.next())).toBe('added one')
  })

  test('changes that were forgotten before this process read them end its streams, which would miss them', async () => {
    const { api, database, stream } = await watchedBeside('/clusters?watch=true')
    await forgetMany(database)
    await api.cluster('one')
    expect(await stream.next()).toMatchObject({ type: 'end', object: { reason: 'ResourceVersionExpired' } })
  })

  test('so they do when all were forgotten and nothing has changed since', async () => {
    const { api, database, stream } = await watchedBeside('/clusters?watch=true')
    const version = await forgetMany(database)
    const told = await stream.until((message) => !isBookmark(message))
    expect(told.at(-1)).toMatchObject({ type: 'end', object: { reason: 'ResourceVersionExpired' } })
    const again = await openWatch(api, '/clusters?watch=true')
    expect(await again.until(isBookmark)).toMatchObject([{ version }])
  })

  test('starting at the same moment on an empty database both come up', async () => {
    const choice = await freshPostgres()
    const apis = await Promise.all([serve(choice), serve(choice), serve(choice)])
    await apis[0]?.cluster('one')
    for (const api of apis) expect((await api.call('GET', '/clusters')).body.total).toBe(1)
  })
})
