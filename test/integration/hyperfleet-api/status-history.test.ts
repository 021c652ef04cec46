import { describe, expect, test } from 'vitest'
import { manualClock } from '#test/harness/index.ts'
import { conditionsOf, onBothDatabases, serve } from './support.ts'

const entities = [
  { kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'] },
  { kind: 'NodePool', plural: 'nodepools', parent_kind: 'Cluster', required_adapters: 'reporting' },
] as const

onBothDatabases((fresh) => {
  const begin = async () => {
    const clock = manualClock()
    const api = await serve({ ...(await fresh()), entities }, clock)
    const { id } = await api.cluster('one')
    return { api, clock, path: `/clusters/${id}` }
  }

  describe('statuses/history', () => {
    test('has what was not aggregated, newest first, by pages, and nothing else', async () => {
      const { api, clock, path } = await begin()
      await api.report(path, { adapter: 'dns', available: 'Unknown', data: { step: 1 } })
      await clock.advance('1s')
      await api.report(path, { adapter: 'dns', available: 'Unknown', data: { step: 2 } })
      await api.report(path, { adapter: 'dns', available: 'True' })
      await api.report(path, { adapter: 'dns', observed_generation: 2 })
      const { status, body } = await api.call('GET', `${path}/statuses/history`)
      expect([status, body.page, body.size, body.total]).toEqual([200, 1, 2, 2])
      expect(body.items).toMatchObject([
        {
          received_time: '2026-01-01T00:00:01.000000Z',
          reason: 'AvailableUnknown',
          report: { adapter: 'dns', observed_generation: 1, data: { step: 2 } },
        },
        { received_time: '2026-01-01T00:00:00.000000Z', report: { data: { step: 1 } } },
      ])
      const second = (await api.call('GET', `${path}/statuses/history?page=2&size=1`)).body
      expect([second.items[0].report.data.step, second.size, second.total]).toEqual([1, 1, 2])
    })

    // API-9
    test('keeps the newest hundred of a resource, whatever happens to others', async () => {
      const { api, path } = await begin()
      const other = `/clusters/${(await api.cluster('two')).id}`
      await api.report(other, { adapter: 'dns', available: 'Unknown' })
      for (let step = 1; step <= 103; step += 1)
        await api.report(path, { adapter: 'dns', available: 'Unknown', data: { step } })
      const { body } = await api.call('GET', `${path}/statuses/history?size=100`)
      expect([body.total, body.items[0].report.data.step, body.items.at(-1).report.data.step]).toEqual([100, 103, 4])
      expect((await api.call('GET', `${other}/statuses/history`)).body.total).toBe(1)
    })

    test('is empty when there is nothing, 404 about an unknown resource, 400 for a page that is none', async () => {
      const { api, path } = await begin()
      expect((await api.call('GET', `${path}/statuses/history`)).body).toEqual({
        items: [],
        page: 1,
        size: 0,
        total: 0,
      })
      expect((await api.call('GET', '/clusters/nobody/statuses/history')).status).toBe(404)
      expect((await api.call('GET', `${path}/statuses/history?size=101`)).status).toBe(400)
    })
  })

  describe('DELETE statuses/{adapter}', () => {
    const finalized = { observed_generation: 2, finalized: 'True' } as const

    test('of an adapter that never reported is 404, and about an unknown resource', async () => {
      const { api, path } = await begin()
      const answer = await api.call('DELETE', `${path}/statuses/nobody`)
      expect([answer.status, answer.body.detail]).toMatchObject([
        404,
        expect.stringContaining("adapter 'nobody' has no"),
      ])
      expect((await api.call('DELETE', '/clusters/nobody/statuses/dns')).status).toBe(404)
    })

    test('of a required adapter is refused: it is the configuration that requires it', async () => {
      const { api, path } = await begin()
      await api.report(path, { adapter: 'dns' })
      const answer = await api.call('DELETE', `${path}/statuses/dns`)
      expect([answer.status, answer.body.code]).toEqual([409, 'HYPERFLEET-CNF-003'])
      expect(answer.body.detail).toBe(
        "adapter 'dns' is required for every Cluster: take it out of the kind's required_adapters first",
      )
      expect((await api.call('GET', `${path}/statuses`)).body.total).toBe(1)
    })

    test('forgets it, and the resource is what the others say', async () => {
      const { api, path } = await begin()
      const pool = (await api.call('POST', `${path}/nodepools`, { name: 'workers', spec: {} })).body
      const at = `/nodepools/${pool.id}`
      await api.report(at, { adapter: 'machines' })
      await api.report(at, { adapter: 'retired/by name', available: 'False' })
      const read = async () => (await api.call('GET', at)).body
      expect((await read()).status.phase).toBe('NotReady')
      const answer = await api.call('DELETE', `${at}/statuses/${encodeURIComponent('retired/by name')}`)
      expect([answer.status, answer.body]).toEqual([204, undefined])
      expect((await read()).status.phase).toBe('Ready')
      expect(Object.keys(conditionsOf(await read()))).not.toContain('Retired/by nameSuccessful')
      expect((await api.call('GET', `${at}/statuses`)).body.items).toMatchObject([{ adapter: 'machines' }])
    })

    // API-31
    test.each(['retired', 'history'])('lets a deletion go that waited for it alone: %s', async (adapter) => {
      const { api, path } = await begin()
      await api.report(path, { adapter })
      await api.call('DELETE', path)
      await api.report(path, { adapter: 'dns', ...finalized })
      expect((await api.call('GET', path)).status).toBe(200)
      expect((await api.call('DELETE', `${path}/statuses/${adapter}`)).status).toBe(204)
      expect((await api.call('GET', path)).status).toBe(404)
    })

    test('lets the parent go too, in the same request, when it waited for this child alone', async () => {
      const { api, path } = await begin()
      const pool = (await api.call('POST', `${path}/nodepools`, { name: 'workers', spec: {} })).body
      await api.report(`/nodepools/${pool.id}`, { adapter: 'retired' })
      await api.call('DELETE', path)
      await api.report(path, { adapter: 'dns', ...finalized })
      expect((await api.call('DELETE', `${path}/nodepools/${pool.id}/statuses/retired`)).status).toBe(204)
      expect((await api.call('GET', `/nodepools/${pool.id}`)).status).toBe(404)
      expect((await api.call('GET', path)).status).toBe(404)
    })

    test('of one among several leaves the deletion waiting for the others, and says so', async () => {
      const { api, path } = await begin()
      await api.report(path, { adapter: 'retired' })
      await api.call('DELETE', path)
      await api.call('DELETE', `${path}/statuses/retired`)
      expect(conditionsOf((await api.call('GET', path)).body).Ready).toMatchObject({
        message: 'Deletion in progress, waiting for adapters [dns] to report their clean-up',
      })
    })
  })
})
