/** Edge cases of a deletion that concern the API (API-23 to API-32). */
import { describe, expect, test } from 'vitest'
import { cleanedUp, finalized, raiseFamily } from './family.ts'
import { conditionsOf, onBothDatabases, openWatch, serve } from './support.ts'

onBothDatabases((fresh) => {
  describe('two phases', () => {
    test('(1) an adapter that finds nothing to delete reports the clean-up as any other', async () => {
      const { api, pool, machine, read } = await raiseFamily(await fresh())
      await api.call('DELETE', machine)
      expect((await read(machine)).status).toMatchObject({ phase: 'Deleting', awaited: ['machines'] })
      expect((await api.report(machine, { adapter: 'machines', ...cleanedUp })).status).toBe(201)
      expect((await api.call('GET', machine)).status).toBe(404)
      expect((await api.call('GET', pool)).status).toBe(200)
    })

    test('(2) (17) an unhealthy adapter keeps the record, and is named as the one that is awaited', async () => {
      const { api, machine, read } = await raiseFamily(await fresh())
      await api.call('DELETE', machine)
      await api.report(machine, { adapter: 'machines', ...cleanedUp, health: 'False' })
      const { status } = await read(machine)
      expect(status.awaited).toEqual(['machines'])
      expect(conditionsOf({ status }).Ready).toMatchObject({
        status: 'False',
        reason: 'Deleting',
        message: 'Deletion in progress, waiting for adapters [machines] to report their clean-up',
      })
      await api.report(machine, { adapter: 'machines', ...cleanedUp })
      expect((await api.call('GET', machine)).status).toBe(404)
    })

    test('(3) an adapter stuck behind something says Applied=True for as long, and the record stays', async () => {
      const { api, clock, machine } = await raiseFamily(await fresh())
      await api.call('DELETE', machine)
      for (let minute = 0; minute < 3; minute++) {
        await api.report(machine, { adapter: 'machines', observed_generation: 2, available: 'False' })
        await clock.advance('1m')
      }
      expect((await api.call('GET', machine)).status).toBe(200)
    })

    // API-24
    test('(5) while it is being deleted it takes no change and no child, on any level', async () => {
      const { api, cluster, pool, machine } = await raiseFamily(await fresh())
      await api.call('DELETE', cluster)
      for (const [method, path, body] of [
        ['PATCH', cluster, { spec: { a: 1 } }],
        ['PATCH', machine, { labels: { a: 'b' } }],
        ['POST', `${cluster}/nodepools`, { name: 'two', spec: {} }],
        ['POST', `${pool}/machines`, { name: 'two', spec: {} }],
      ] as const)
        expect((await api.call(method, path, body)).body).toMatchObject({ status: 409, code: 'HYPERFLEET-CNF-003' })
    })

    test('(6) deleted during creation: what the Job still says of its first generation opens no gate', async () => {
      const { api, machine } = await raiseFamily(await fresh())
      await api.report(machine, { adapter: 'machines', available: 'Unknown' })
      await api.call('DELETE', machine)
      expect((await api.report(machine, { adapter: 'machines', ...finalized, observed_generation: 1 })).status).toBe(
        201,
      )
      expect((await api.call('GET', machine)).status).toBe(200)
      // Still "working on it", but with its clean-up done: dropping this report would wait for ever.
      await api.report(machine, { adapter: 'machines', ...cleanedUp, available: 'Unknown' })
      expect((await api.call('GET', machine)).status).toBe(404)
    })

    test('(7) a late report of an older generation is dropped', async () => {
      const { api, machine } = await raiseFamily(await fresh())
      await api.call('DELETE', machine)
      await api.report(machine, { adapter: 'machines', observed_generation: 2, available: 'False' })
      const late = await api.report(machine, { adapter: 'machines', ...cleanedUp, observed_generation: 1 })
      expect([late.status, late.headers.get('muster-discarded')]).toEqual([204, 'OlderGeneration'])
      expect((await api.call('GET', machine)).status).toBe(200)
    })

    test('(8) a clean-up observed before the deletion opens no gate, one observed at its very moment does', async () => {
      const { api, clock, machine } = await raiseFamily(await fresh())
      await clock.advance('10s')
      await api.call('DELETE', machine)
      await api.report(machine, { adapter: 'machines', ...cleanedUp, observed_time: '2026-01-01T00:00:09.999999Z' })
      expect((await api.call('GET', machine)).status).toBe(200)
      await api.report(machine, { adapter: 'machines', ...cleanedUp, observed_time: '2026-01-01T00:00:10Z' })
      expect((await api.call('GET', machine)).status).toBe(404)
    })

    test('(9) a required adapter that never reported is awaited, and another is not', async () => {
      const { api, machine, read } = await raiseFamily(await fresh())
      await api.call('DELETE', machine)
      await api.report(machine, { adapter: 'extra', ...finalized })
      expect((await read(machine)).status.awaited).toEqual(['machines'])
      await api.report(machine, { adapter: 'machines', ...finalized })
      expect((await api.call('GET', machine)).status).toBe(404)
    })

    test('(9) of what no adapter works on nothing is awaited: it goes at once', async () => {
      const { api, pool } = await raiseFamily(await fresh())
      const lock = `/locks/${(await api.call('POST', `${pool}/locks`, { name: 'lock', spec: {} })).body.id}`
      const deleted = await api.call('DELETE', lock)
      expect([deleted.status, deleted.body.status]).toEqual([202, { phase: 'Deleting', conditions: [], awaited: [] }])
      expect((await api.call('GET', lock)).status).toBe(404)
    })

    test('(14) the row of a retired adapter keeps the record, and its name says whom it waits for', async () => {
      const { api, machine, read } = await raiseFamily(await fresh())
      await api.report(machine, { adapter: 'retired' })
      await api.call('DELETE', machine)
      await api.report(machine, { adapter: 'machines', ...finalized })
      expect((await read(machine)).status.awaited).toEqual(['retired'])
    })

    // API-23
    test('(16) repeated it changes nothing and tells watchers nothing', async () => {
      const { api, clock, cluster, read } = await raiseFamily(await fresh())
      await api.call('DELETE', cluster)
      const before = await read(cluster)
      const stream = await openWatch(api, '/clusters?watch=true')
      await stream.until(({ type }) => type === 'bookmark')
      await clock.advance('5s')
      expect((await api.call('DELETE', cluster)).body).toEqual(before)
      await api.call('POST', '/clusters', { name: 'two', spec: {} })
      expect((await stream.next()).object.name).toBe('two')
    })

    test('(16) asked for ten times at once it is one deletion', async () => {
      const { api, cluster, machine, read } = await raiseFamily(await fresh())
      const answers = await Promise.all(Array.from({ length: 10 }, () => api.call('DELETE', cluster)))
      expect(answers.map(({ status, body }) => [status, body.generation])).toEqual(answers.map(() => [202, 2]))
      expect((await read(machine)).generation).toBe(2)
    })

    test('(19) the name is free at once: two of one name, one going and one new, are told apart by id', async () => {
      const { api, cluster, codes } = await raiseFamily(await fresh())
      await api.call('DELETE', cluster)
      const again = await api.call('POST', '/clusters', { name: 'one', spec: {} })
      expect(again.status).toBe(201)
      await api.report(cluster, { adapter: 'dns', ...finalized })
      expect(await codes()).toEqual([200, 200, 200])
      expect((await api.call('GET', `/clusters/${again.body.id}`)).body).toMatchObject({ name: 'one', generation: 1 })
      expect((await api.call('POST', '/clusters', { name: 'one', spec: {} })).status).toBe(409)
    })
  })

  describe('a family', () => {
    test('is marked down to the grandchildren, with one time and one name', async () => {
      const { api, clock, cluster, pool, machine, read } = await raiseFamily(await fresh())
      await clock.advance('5s')
      const marked = {
        generation: 2,
        deleted_time: '2026-01-01T00:00:05.000000Z',
        deleted_by: 'system@hyperfleet.local',
        status: { phase: 'Deleting' },
      }
      expect((await api.call('DELETE', cluster)).body).toMatchObject(marked)
      for (const path of [cluster, pool, machine]) expect(await read(path)).toMatchObject(marked)
    })

    test('(11) goes from the grandchildren up, in any order of cleaning up', async () => {
      const { api, cluster, pool, machine, read, codes } = await raiseFamily(await fresh())
      await api.call('DELETE', cluster)
      await api.report(cluster, { adapter: 'dns', ...finalized })
      await api.report(pool, { adapter: 'pools', ...cleanedUp })
      expect(await codes()).toEqual([200, 200, 200])
      for (const path of [cluster, pool]) {
        const { status } = await read(path)
        expect([status.awaited, conditionsOf({ status }).Ready?.message]).toEqual([
          [],
          'Deletion in progress, waiting for child resources to be removed',
        ])
      }
      await api.report(machine, { adapter: 'machines', ...finalized })
      expect(await codes()).toEqual([404, 404, 404])
    })

    test('(11) a parent that still waits for its adapter says so when its last child is gone', async () => {
      const { api, cluster, pool, machine, read, codes } = await raiseFamily(await fresh())
      await api.call('DELETE', cluster)
      expect(conditionsOf(await read(pool)).Ready?.message).toBe(
        'Deletion in progress, waiting for adapters [pools] to report their clean-up and child resources to be removed',
      )
      await api.report(machine, { adapter: 'machines', ...finalized })
      expect(conditionsOf(await read(pool)).Ready?.message).toBe(
        'Deletion in progress, waiting for adapters [pools] to report their clean-up',
      )
      await api.report(pool, { adapter: 'pools', ...finalized })
      expect(await codes()).toEqual([200, 404, 404])
      await api.report(cluster, { adapter: 'dns', ...finalized })
      expect(await codes()).toEqual([404, 404, 404])
    })

    test('with children left is not Ready, so a Sentinel does not take it for settled', async () => {
      const { api, cluster, read } = await raiseFamily(await fresh())
      await api.call('DELETE', cluster)
      await api.report(cluster, { adapter: 'dns', ...finalized, available: 'True' })
      const conditions = conditionsOf(await read(cluster))
      expect([conditions.Ready?.status, conditions.Reconciled?.status]).toEqual(['False', 'False'])
    })

    test('(11) a child deleted alone goes alone', async () => {
      const { api, pool, machine, codes } = await raiseFamily(await fresh())
      await api.call('DELETE', pool)
      await api.report(pool, { adapter: 'pools', ...finalized })
      expect(await codes()).toEqual([200, 200, 200])
      await api.report(machine, { adapter: 'machines', ...finalized })
      expect(await codes()).toEqual([200, 404, 404])
    })

    test('a child that was in deletion before keeps its own time and generation', async () => {
      const { api, clock, cluster, pool, machine, read } = await raiseFamily(await fresh())
      await api.call('DELETE', machine)
      await clock.advance('5s')
      await api.call('DELETE', cluster)
      expect(await read(machine)).toMatchObject({ generation: 2, deleted_time: '2026-01-01T00:00:00.000000Z' })
      expect(await read(pool)).toMatchObject({ generation: 2, deleted_time: '2026-01-01T00:00:05.000000Z' })
    })

    test('a grandchild that forbids it leaves the whole family as it was', async () => {
      const { api, cluster, pool, read } = await raiseFamily(await fresh())
      const lock = `/locks/${(await api.call('POST', `${pool}/locks`, { name: 'lock', spec: {} })).body.id}`
      const before = await Promise.all([cluster, pool].map(read))
      for (const path of [cluster, pool]) {
        const refused = await api.call('DELETE', path)
        expect([refused.status, refused.body.code]).toEqual([409, 'HYPERFLEET-CNF-003'])
        expect(refused.body.detail).toContain('active Lock(s) exist, delete them first')
      }
      expect(await Promise.all([cluster, pool].map(read))).toEqual(before)
      await api.call('DELETE', lock)
      expect((await api.call('DELETE', cluster)).status).toBe(202)
    })

    test('whose members no adapter works on goes at once, children before their parents', async () => {
      const plain = [
        { kind: 'Cluster', plural: 'clusters' },
        { kind: 'NodePool', plural: 'nodepools', parent_kind: 'Cluster' },
      ]
      const api = await serve({ ...(await fresh()), entities: plain })
      const { id } = await api.cluster('one')
      await api.call('POST', `/clusters/${id}/nodepools`, { name: 'pool', spec: {} })
      expect((await api.call('DELETE', `/clusters/${id}`)).status).toBe(202)
      expect((await api.call('GET', `/clusters/${id}`)).status).toBe(404)
      expect((await api.call('GET', '/nodepools')).body.total).toBe(0)
    })

    test('reported about, deleted and forced by many at once ends in one state without an error', async () => {
      const { api, cluster, pool, machine, codes } = await raiseFamily(await fresh())
      await api.call('DELETE', cluster)
      const answers = await Promise.all([
        ...Array.from({ length: 5 }, () => [
          api.report(cluster, { adapter: 'dns', ...finalized }),
          api.report(pool, { adapter: 'pools', ...finalized }),
          api.report(machine, { adapter: 'machines', ...finalized }),
          api.call('DELETE', pool),
        ]).flat(),
        api.call('POST', `${pool}/force-delete`, { reason: 'at once' }),
      ])
      expect(answers.map(({ status }) => status).filter((status) => ![201, 202, 204, 404].includes(status))).toEqual([])
      expect(await codes()).toEqual([404, 404, 404])
      for (const plural of ['clusters', 'nodepools', 'machines'])
        expect((await api.call('GET', `/archive/${plural}`)).body.total).toBe(1)
    })
  })
})
