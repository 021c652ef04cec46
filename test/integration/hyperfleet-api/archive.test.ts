import { describe, expect, onTestFinished, test } from 'vitest'
import { countArchived, putArchived } from '#services/hyperfleet-api/storage/archive.ts'
import { openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { deleteExpired, RETENTION_MS } from '#services/hyperfleet-api/storage/retention.ts'
import { cleanedUp, finalized, raiseFamily } from './family.ts'
import { onBothDatabases, serve } from './support.ts'

onBothDatabases((fresh) => {
  describe('the archive', () => {
    // API-29
    test('has a removed record as it was last, with the last report of every adapter', async () => {
      const { api, clock, machine, read } = await raiseFamily(await fresh())
      await api.report(machine, { adapter: 'extra', data: { ip: '10.0.0.1' } })
      await api.call('DELETE', machine)
      const before = await read(machine)
      await api.report(machine, { adapter: 'extra', ...finalized, data: { ip: '10.0.0.1' } })
      await clock.advance('5s')
      await api.report(machine, { adapter: 'machines', ...cleanedUp })
      const { body } = await api.call('GET', '/archive/machines')
      expect(body).toMatchObject({ page: 1, size: 1, total: 1 })
      const [archived] = body.items
      expect(archived).toMatchObject({
        archived_time: '2026-01-01T00:00:05.000000Z',
        resource: { id: before.id, spec: before.spec, deleted_time: before.deleted_time, status: { awaited: [] } },
        statuses: [
          { adapter: 'extra', data: { ip: '10.0.0.1' } },
          { adapter: 'machines', observed_generation: 2 },
        ],
      })
      expect(archived.forced).toBeUndefined()
    })

    test('is paged, the newest first, and searched by name or id', async () => {
      const { api, clock, pool } = await raiseFamily(await fresh())
      const ids: string[] = []
      for (const name of ['a', 'b', 'a', 'c']) {
        await clock.advance('1s')
        const { id } = (await api.call('POST', `${pool}/locks`, { name, spec: {} })).body
        await api.call('DELETE', `/locks/${id}`)
        ids.push(id)
      }
      const found = async (query: string) => {
        const { body } = await api.call('GET', `/archive/locks?${query}`)
        return [body.items.map(({ resource }: { resource: { id: string } }) => ids.indexOf(resource.id)), body.total]
      }
      expect(await found('size=3')).toEqual([[3, 2, 1], 4])
      expect(await found('size=3&page=2')).toEqual([[0], 4])
      expect(await found('name=a')).toEqual([[2, 0], 2])
      expect(await found(`id=${ids[1]}`)).toEqual([[1], 1])
      expect(await found('name=nobody')).toEqual([[], 0])
      expect((await api.call('GET', '/archive/machines')).body.total).toBe(0)
    })

    test('of a kind that is not served is 404 and says which are', async () => {
      const api = await serve(await fresh())
      const { body } = await api.call('GET', '/archive/cluster')
      expect([body.status, body.detail]).toEqual([
        404,
        "there is no archive of 'cluster', the kinds are clusters, nodepools",
      ])
    })

    test('is purged by time, by kind, or by both, and by nothing not at all', async () => {
      const { api, clock, pool } = await raiseFamily(await fresh())
      for (let n = 0; n < 4; n++) {
        const { id } = (await api.call('POST', `${pool}/locks`, { name: `lock-${n}`, spec: {} })).body
        await api.call('DELETE', `/locks/${id}`)
        await clock.advance('1h')
      }
      const purge = async (body: object) => (await api.call('POST', '/archive/purge', body)).body
      expect(await purge({ before: '2026-01-01T01:00:00Z' })).toEqual({ purged: 1 })
      expect(await purge({ before: '2026-01-01T02:00:00Z', kind: 'Machine' })).toEqual({ purged: 0 })
      expect(await purge({ before: '2026-01-01T02:00:00Z', kind: 'Lock' })).toEqual({ purged: 1 })
      expect(await purge({ kind: 'Lock' })).toEqual({ purged: 2 })
      expect(await purge({})).toMatchObject({ status: 400, detail: expect.stringContaining('give before') })
      expect(await purge({ before: 'yesterday' })).toMatchObject({ status: 400, errors: [{ field: 'before' }] })
      expect(await purge({ kind: 'locks' })).toMatchObject({
        status: 400,
        detail: 'kind must be one of Cluster, NodePool, Machine, Lock',
      })
    })
  })

  // API-29
  test('archived records are forgotten when their retention is over, and never when it is 0', async () => {
    const database = await openDatabase({ ...(await fresh()), onError: () => {} })
    onTestFinished(() => database.close())
    const time = '2026-01-01T00:00:00.000000Z'
    const resource = {
      id: 'one',
      kind: 'Cluster',
      name: 'one',
      href: '',
      spec: {},
      generation: 1,
      created_time: time,
      updated_time: time,
      created_by: 'me',
      updated_by: 'me',
      tenancy: {},
      status: { phase: 'Deleting' as const, conditions: [] },
    }
    await database.transaction((writer) => putArchived(writer, { archived_time: time, resource, statuses: [] }))
    const left = () => countArchived(database.kysely, { kind: 'Cluster' })
    const later = (age: number) => new Date(Date.parse(time) + age)
    await deleteExpired(database, later(RETENTION_MS.archive))
    await deleteExpired(database, later(RETENTION_MS.archive * 100), { ...RETENTION_MS, archive: 0 })
    expect(await left()).toBe(1)
    await deleteExpired(database, later(RETENTION_MS.archive + 1))
    expect(await left()).toBe(0)
  })

  describe('force-delete', () => {
    // API-30
    test('removes what is in deletion and all below it, and the archive says who did it and why', async () => {
      const { api, cluster, pool, machine, codes } = await raiseFamily(await fresh())
      for (const [path, adapter] of [
        [pool, 'pools'],
        [machine, 'machines'],
      ] as const)
        await api.report(path, { adapter })
      await api.call('DELETE', pool)
      const forced = await api.call('POST', `${pool}/force-delete`, { reason: ' the cloud account is gone ' })
      expect([forced.status, forced.body]).toEqual([204, undefined])
      expect(await codes()).toEqual([200, 404, 404])
      for (const [plural, adapter] of [
        ['nodepools', 'pools'],
        ['machines', 'machines'],
      ])
        expect((await api.call('GET', `/archive/${plural}`)).body.items).toMatchObject([
          { forced: { by: 'system@hyperfleet.local', reason: 'the cloud account is gone' }, statuses: [{ adapter }] },
        ])
      expect((await api.call('GET', `${pool}/statuses`)).status).toBe(404)
      expect((await api.call('GET', cluster)).status).toBe(200)
    })

    test('of the last child lets a parent go whose adapters have cleaned up', async () => {
      const { api, cluster, pool, codes } = await raiseFamily(await fresh())
      await api.call('DELETE', cluster)
      await api.report(cluster, { adapter: 'dns', ...finalized })
      await api.call('POST', `${pool}/force-delete`, { reason: 'the adapter is broken' })
      expect(await codes()).toEqual([404, 404, 404])
      const [archived] = (await api.call('GET', '/archive/clusters')).body.items
      expect(archived.forced).toBeUndefined()
    })

    test('works on nested paths as well', async () => {
      const { api, cluster, pool, codes } = await raiseFamily(await fresh())
      await api.call('DELETE', pool)
      const forced = await api.call('POST', `${cluster}${pool}/force-delete`, { reason: 'the adapter is broken' })
      expect(forced.status).toBe(204)
      expect(await codes()).toEqual([200, 404, 404])
    })

    test('of what is not being deleted is 409, of an unknown one 404, without a reason 400', async () => {
      const { api, cluster, pool, codes } = await raiseFamily(await fresh())
      const force = async (path: string, body: unknown) => {
        const { status, body: problem } = await api.call('POST', `${path}/force-delete`, body)
        return [status, problem?.code]
      }
      expect(await force(cluster, { reason: 'now' })).toEqual([409, 'HYPERFLEET-CNF-003'])
      expect(await force('/clusters/nobody', { reason: 'now' })).toEqual([404, 'HYPERFLEET-NTF-001'])
      await api.call('DELETE', pool)
      for (const body of [{}, { reason: '' }, { reason: '  ' }, { reason: 7 }])
        expect(await force(pool, body)).toEqual([400, 'HYPERFLEET-VAL-000'])
      expect(await force(pool, undefined)).toEqual([400, 'HYPERFLEET-VAL-006'])
      expect(await codes()).toEqual([200, 200, 200])
    })
  })
})
