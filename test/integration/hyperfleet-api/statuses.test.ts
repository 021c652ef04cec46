import { describe, expect, test } from 'vitest'
import { manualClock } from '#test/harness/index.ts'
import { conditionsOf, onBothDatabases, serve } from './support.ts'

const entities = [
  { kind: 'Cluster', plural: 'clusters', required_adapters: ['dns', 'validation'] },
  { kind: 'NodePool', plural: 'nodepools', parent_kind: 'Cluster', required_adapters: ['machines'] },
]

const reporting = { kind: 'Cluster', plural: 'clusters', required_adapters: 'reporting' as const }

onBothDatabases((fresh) => {
  const begin = async () => {
    const clock = manualClock()
    const api = await serve({ ...(await fresh()), entities }, clock)
    const { id } = await api.cluster('one')
    const path = `/clusters/${id}`
    return { api, clock, path, read: async () => (await api.call('GET', path)).body }
  }

  test('API-121: of two reporting adapters with one condition the failing one is shown, whichever is first by name', async () => {
    const api = await serve({ ...(await fresh()), entities: [reporting] })
    for (const failing of ['pull--secret', 'pull-secret']) {
      const { id } = await api.cluster(failing.replace('--', '-double-'))
      for (const adapter of ['pull--secret', 'pull-secret'])
        await api.report(`/clusters/${id}`, { adapter, available: adapter === failing ? 'False' : 'True' })
      const { body } = await api.call('GET', `/clusters/${id}`)
      expect(conditionsOf(body).PullSecretSuccessful).toMatchObject({ status: 'False' })
    }
  })

  describe('reports', () => {
    // API-8
    test('by PUT and by POST are stored and read back, and make the cluster ready when all agree', async () => {
      const { api, path, read } = await begin()
      const put = await api.report(path, { adapter: 'dns', data: { zone: 'a' } })
      expect([put.status, put.body]).toMatchObject([
        201,
        {
          adapter: 'dns',
          observed_generation: 1,
          data: { zone: 'a' },
          last_report_time: '2026-01-01T00:00:00.000000Z',
        },
      ])
      expect((await read()).status.phase).toBe('NotReady')
      const post = await api.call('POST', `${path}/statuses`, {
        adapter: 'validation',
        observed_generation: 1,
        observed_time: '2026-01-01T00:00:01.5+00:00',
        conditions: ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' })),
        metadata: { attempt: 2, unknown: 'x' },
      })
      expect([post.status, post.body.metadata]).toEqual([201, { attempt: 2 }])
      const cluster = await read()
      expect(cluster.status).toMatchObject({ phase: 'Ready', lastTransitionTime: '2026-01-01T00:00:01.500000Z' })
      expect(conditionsOf(cluster)).toMatchObject({
        Ready: { status: 'True', reason: 'ReconciledAll', last_updated_time: '2026-01-01T00:00:00.000000Z' },
        DnsSuccessful: { status: 'True' },
        ValidationSuccessful: { status: 'True' },
      })
      const statuses = await api.call('GET', `${path}/statuses`)
      expect(statuses.body).toMatchObject({ page: 1, size: 2, total: 2 })
      expect(statuses.body.items).toEqual([put.body, post.body])
    })

    test('never bump the generation or updated_time', async () => {
      const { api, clock, path, read } = await begin()
      const { updated_time } = await read()
      await clock.advance('5s')
      await api.report(path, { adapter: 'dns' })
      expect(await read()).toMatchObject({ generation: 1, updated_time })
    })

    // API-2
    test('are dropped with the reason when they are of an older or future generation, or older than the stored one', async () => {
      const { api, clock, path } = await begin()
      const discarded = async (report: Parameters<typeof api.report>[1]) => {
        const { status, headers } = await api.report(path, report)
        return [status, headers.get('muster-discarded')]
      }
      expect(await discarded({ adapter: 'dns', observed_generation: 2 })).toEqual([204, 'FutureGeneration'])
      await api.call('PATCH', path, { spec: { a: 1 } })
      await api.report(path, { adapter: 'dns', observed_generation: 2 })
      expect(await discarded({ adapter: 'dns', observed_generation: 1 })).toEqual([204, 'OlderGeneration'])
      await clock.advance('10s')
      const older = { adapter: 'dns', observed_generation: 2, observed_time: '2025-12-31T23:59:59Z' }
      expect(await discarded(older)).toEqual([204, 'OlderReport'])
      expect(await discarded({ adapter: 'dns', observed_generation: 2, available: 'Unknown' })).toEqual([
        204,
        'AvailableUnknown',
      ])
    })

    // API-4
    test('of equal time and other content are stored; the same again changes nothing', async () => {
      const { api, path, read } = await begin()
      await api.report(path, { adapter: 'dns', available: 'False' })
      const second = await api.report(path, { adapter: 'dns', available: 'True' })
      expect([second.status, second.body.conditions[0].status]).toEqual([201, 'True'])
      const before = await read()
      const again = await api.report(path, { adapter: 'dns', available: 'True' })
      expect([again.status, again.body]).toEqual([201, second.body])
      expect(await read()).toEqual(before)
    })

    // API-5
    test('Available=Unknown: the first is stored so that the adapter shows, and aggregates nothing', async () => {
      const { api, path, read } = await begin()
      const before = await read()
      expect((await api.report(path, { adapter: 'dns', available: 'Unknown' })).status).toBe(201)
      expect(await read()).toEqual(before)
      expect((await api.call('GET', `${path}/statuses`)).body.total).toBe(1)
    })

    test.each([
      ['no adapter', { adapter: '' }],
      ['generation 0', { observed_generation: 0 }],
      ['a status that is none', { conditions: [{ type: 'Available', status: 'Maybe' }] }],
      ['an empty type', { conditions: [{ type: '', status: 'True' }] }],
      [
        'a type twice',
        { conditions: ['Available', 'Applied', 'Health', 'Health'].map((type) => ({ type, status: 'True' })) },
      ],
      ['no Health', { conditions: ['Available', 'Applied'].map((type) => ({ type, status: 'True' })) }],
      ['a time 6 minutes ahead', { observed_time: '2026-01-01T00:06:00Z' }],
      ['a time 31 minutes ago', { observed_time: '2025-12-31T23:29:00Z' }],
      ['no time at all', { observed_time: 'yesterday' }],
      ['a day that is none', { observed_time: '2026-02-30T00:00:00Z' }],
      ['an adapter name of 256 characters', { adapter: 'a'.repeat(256) }],
    ])('with %s are refused', async (_case, part) => {
      const { api, path } = await begin()
      const conditions = ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' }))
      const answer = await api.call('PUT', `${path}/statuses`, {
        adapter: 'dns',
        observed_generation: 1,
        conditions,
        ...part,
      })
      expect([answer.status, answer.body.code]).toEqual([400, 'HYPERFLEET-VAL-000'])
    })

    test('with null for what they leave out, as Go clients send them, are as good as without', async () => {
      const { api, path } = await begin()
      const answer = await api.call('PUT', `${path}/statuses`, {
        adapter: 'dns',
        observed_generation: 1,
        observed_time: null,
        conditions: ['Available', 'Applied', 'Health'].map((type) => ({
          type,
          status: 'True',
          reason: null,
          message: null,
        })),
        data: null,
        metadata: { job_name: null, attempt: 1 },
      })
      expect(answer).toMatchObject({ status: 201, body: { data: {}, metadata: { attempt: 1 } } })
      expect(JSON.stringify(answer.body)).not.toContain('null')
    })

    // API-1
    test('are checked in the peer’s order: the form, the resource, what is older, what is missing', async () => {
      const { api, clock, path } = await begin()
      const conditions = ['Available', 'Applied'].map((type) => ({ type, status: 'True' }))
      const send = (where: string, part: object) =>
        api.call('PUT', `${where}/statuses`, { adapter: 'dns', observed_generation: 1, conditions, ...part })
      expect((await send('/clusters/nobody', { observed_generation: 0 })).status).toBe(400)
      expect((await send('/clusters/nobody', {})).status).toBe(404)
      expect((await send(path, { observed_generation: 2 })).status).toBe(204)
      await api.report(path, { adapter: 'dns' })
      await clock.advance('1s')
      expect((await send(path, { observed_time: '2025-12-31T23:59:59Z' })).status).toBe(204)
      expect((await send(path, {})).body.detail).toBe(
        "missing mandatory condition 'Health': all adapters must report Available, Applied, and Health",
      )
    })

    test('about an unknown resource are 404', async () => {
      const { api } = await begin()
      expect((await api.report('/clusters/nobody', { adapter: 'dns' })).status).toBe(404)
    })

    test('of ten adapters at once all count', async () => {
      const { api, path } = await begin()
      const names = Array.from({ length: 10 }, (_, n) => `adapter-${n}`)
      const answers = await Promise.all(names.map((adapter) => api.report(path, { adapter })))
      expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201))
      expect((await api.call('GET', `${path}/statuses`)).body.total).toBe(10)
    })
  })

  describe('deletion', () => {
    // API-23
    test('is two-phase: 202 and marked at once, gone when every required adapter has cleaned up', async () => {
      const { api, clock, path, read } = await begin()
      await api.report(path, { adapter: 'dns' })
      await api.report(path, { adapter: 'validation' })
      await clock.advance('5s')
      const deleted = await api.call('DELETE', path)
      expect(deleted.status).toBe(202)
      expect(deleted.body).toMatchObject({
        generation: 2,
        deleted_time: '2026-01-01T00:00:05.000000Z',
        status: { phase: 'Deleting' },
      })
      expect(conditionsOf(deleted.body).Ready).toMatchObject({
        status: 'False',
        reason: 'Deleting',
        message: 'Deletion in progress, waiting for adapters [dns, validation] to report their clean-up',
      })
      const gone = { observed_generation: 2, available: 'False', applied: 'False' } as const
      await api.report(path, { adapter: 'dns', ...gone })
      expect(conditionsOf(await read()).Ready).toMatchObject({
        message: 'Deletion in progress, waiting for adapters [validation] to report their clean-up',
      })
      expect((await api.report(path, { adapter: 'validation', ...gone, health: 'False' })).status).toBe(201)
      expect((await api.call('GET', path)).status).toBe(200)
      expect((await api.report(path, { adapter: 'validation', ...gone })).status).toBe(201)
      expect((await api.call('GET', path)).status).toBe(404)
      expect((await api.call('GET', `${path}/statuses`)).status).toBe(404)
    })

    test('repeated changes nothing; changes and new children are 409', async () => {
      const { api, clock, path, read } = await begin()
      await api.call('DELETE', path)
      const before = await read()
      await clock.advance('5s')
      const again = await api.call('DELETE', path)
      expect([again.status, again.body]).toEqual([202, before])
      for (const [method, where, body] of [
        ['PATCH', path, { spec: { a: 1 } }],
        ['POST', `${path}/nodepools`, { name: 'workers', spec: {} }],
      ] as const)
        expect((await api.call(method, where, body)).body).toMatchObject({ status: 409, code: 'HYPERFLEET-CNF-003' })
    })

    // API-25
    test('a clean-up observed before the deletion, or of the generation before, opens no gate', async () => {
      const { api, clock, path } = await begin()
      await clock.advance('10s')
      await api.call('DELETE', path)
      const gone = { available: 'False', applied: 'False', observed_time: '2026-01-01T00:00:09Z' } as const
      for (const adapter of ['dns', 'validation']) {
        await api.report(path, { adapter, ...gone, observed_generation: 1 })
        await api.report(path, { adapter, ...gone, observed_generation: 2 })
      }
      expect((await api.call('GET', path)).status).toBe(200)
    })

    test('Finalized=True opens the gate whatever Available says', async () => {
      const { api, path } = await begin()
      await api.report(path, { adapter: 'dns' })
      await api.report(path, { adapter: 'validation' })
      await api.call('DELETE', path)
      for (const adapter of ['dns', 'validation'])
        expect(
          (await api.report(path, { adapter, observed_generation: 2, available: 'Unknown', finalized: 'True' })).status,
        ).toBe(201)
      expect((await api.call('GET', path)).status).toBe(404)
    })

    // API-26
    test('waits for an adapter that is not required but has reported', async () => {
      const { api, path } = await begin()
      await api.report(path, { adapter: 'extra' })
      await api.call('DELETE', path)
      for (const adapter of ['dns', 'validation'])
        await api.report(path, { adapter, observed_generation: 2, finalized: 'True' })
      expect((await api.call('GET', path)).status).toBe(200)
      await api.report(path, { adapter: 'extra', observed_generation: 2, finalized: 'True' })
      expect((await api.call('GET', path)).status).toBe(404)
    })

    // API-27
    test('cascades; the parent goes with its last child, in the same report', async () => {
      const { api, path, read } = await begin()
      const pool = (await api.call('POST', `${path}/nodepools`, { name: 'workers', spec: {} })).body
      await api.call('DELETE', path)
      expect((await api.call('GET', `/nodepools/${pool.id}`)).body).toMatchObject({
        generation: 2,
        status: { phase: 'Deleting' },
      })
      for (const adapter of ['dns', 'validation'])
        await api.report(path, { adapter, observed_generation: 2, finalized: 'True' })
      expect(conditionsOf(await read()).Ready).toMatchObject({
        message: 'Deletion in progress, waiting for child resources to be removed',
      })
      await api.report(`/nodepools/${pool.id}`, { adapter: 'machines', observed_generation: 2, finalized: 'True' })
      expect((await api.call('GET', `/nodepools/${pool.id}`)).status).toBe(404)
      expect((await api.call('GET', path)).status).toBe(404)
    })

    // API-32
    test('of a parent and reports about its children at the same time end in one state', async () => {
      const { api, path } = await begin()
      const pools = await Promise.all(
        Array.from({ length: 5 }, (_, n) => api.call('POST', `${path}/nodepools`, { name: `pool-${n}`, spec: {} })),
      )
      await api.call('DELETE', path)
      const finalized = { observed_generation: 2, finalized: 'True' } as const
      const answers = await Promise.all([
        ...['dns', 'validation'].map((adapter) => api.report(path, { adapter, ...finalized })),
        ...pools.map(({ body }) => api.report(`/nodepools/${body.id}`, { adapter: 'machines', ...finalized })),
        ...pools.map(({ body }) => api.call('DELETE', `/nodepools/${body.id}`)),
      ])
      expect(answers.filter(({ status }) => status >= 500)).toEqual([])
      expect((await api.call('GET', '/nodepools')).body.total).toBe(0)
      expect((await api.call('GET', path)).status).toBe(404)
    })

    test('of what no adapter works on removes it at once', async () => {
      const api = await serve(await fresh())
      const { id } = await api.cluster('one')
      expect((await api.call('DELETE', `/clusters/${id}`)).status).toBe(202)
      expect((await api.call('GET', `/clusters/${id}`)).status).toBe(404)
    })
  })
})
