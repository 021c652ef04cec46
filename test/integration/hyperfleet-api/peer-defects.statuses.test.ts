import { describe, expect, test } from 'vitest'
import { manualClock } from '#test/harness/index.ts'
import { conditionsOf, onBothDatabases, serve } from './support.ts'

/**
 * What goes wrong with statuses in the Go peer, each defect by name, and what happens here instead. Those about requests,
 * lists and deletions: peer-defects.resources.test.ts.
 */

const entities = [
  { kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'] },
  { kind: 'NodePool', plural: 'nodepools', parent_kind: 'Cluster', required_adapters: ['machines'] },
  { kind: 'Channel', plural: 'channels', required_adapters: [] },
]

onBothDatabases((fresh) => {
  const begin = async () => {
    const clock = manualClock()
    const api = await serve({ ...(await fresh()), entities }, clock)
    const { id } = await api.cluster('one')
    const path = `/clusters/${id}`
    return { api, clock, path, conditions: async () => conditionsOf((await api.call('GET', path)).body) }
  }

  describe('a report', () => {
    test('of equal time and other content is not lost: False, then True, within one second', async () => {
      const { api, path, conditions } = await begin()
      const observed_time = '2026-01-01T00:00:00Z'
      await api.report(path, { adapter: 'dns', available: 'False', observed_time })
      const second = await api.report(path, { adapter: 'dns', available: 'True', observed_time })
      expect([second.status, second.body.conditions[0].status]).toEqual([201, 'True'])
      expect((await conditions()).Ready).toMatchObject({ status: 'True' })
    })

    test.each(['2026-01-01T00:00:00.1234567Z', '2026-01-01T00:00:00.1234561Z', '2026-01-01T00:00:00.123456789Z'])(
      'retried with nanoseconds is answered as the first time, however they round: %s',
      async (observed_time) => {
        const { api, path } = await begin()
        const first = await api.report(path, { adapter: 'dns', observed_time })
        const again = await api.report(path, { adapter: 'dns', observed_time })
        expect([again.status, again.body]).toEqual([201, first.body])
        expect(first.body.last_report_time).toBe('2026-01-01T00:00:00.123456Z')
      },
    )

    test('that says Finalized=True with Available=Unknown counts, so that the deletion does not stall', async () => {
      const { api, path } = await begin()
      await api.report(path, { adapter: 'dns' })
      await api.call('DELETE', path)
      const answer = await api.report(path, {
        adapter: 'dns',
        observed_generation: 2,
        available: 'Unknown',
        finalized: 'True',
      })
      expect(answer.status).toBe(201)
      expect((await api.call('GET', path)).status).toBe(404)
    })

    test('with a long adapter name, NUL, or half a character is 400 and never 500', async () => {
      const { api, path } = await begin()
      const bad = [
        { adapter: 'a'.repeat(256) },
        { adapter: 'd\0ns' },
        { adapter: 'dns\ud800' },
        { adapter: 'dns', data: { text: 'a\0b' } },
        { adapter: 'dns', data: { 'a\0b': 1 } },
      ]
      for (const report of bad) expect((await api.report(path, report)).status).toBe(400)
      expect((await api.call('GET', `${path}/statuses`)).body.total).toBe(0)
    })

    test('by POST is as good as by PUT: clients of both generations work', async () => {
      const { api, path } = await begin()
      const report = {
        adapter: 'dns',
        observed_generation: 1,
        observed_time: '2026-01-01T00:00:00Z',
        conditions: ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' })),
      }
      const first = await api.call('POST', `${path}/statuses`, report)
      expect([first.status, (await api.call('PUT', `${path}/statuses`, report)).body]).toEqual([201, first.body])
    })

    test('that is dropped says why', async () => {
      const { api, path } = await begin()
      const { status, headers } = await api.report(path, { adapter: 'dns', observed_generation: 2 })
      expect([status, headers.get('muster-discarded')]).toEqual([204, 'FutureGeneration'])
    })

    test('is read back as it was answered: one precision of time everywhere', async () => {
      const { api, path } = await begin()
      const { body } = await api.report(path, { adapter: 'dns', observed_time: '2026-01-01T00:00:00.123456789Z' })
      expect((await api.call('GET', `${path}/statuses`)).body.items).toEqual([body])
    })
  })

  describe('conditions', () => {
    test('have both names, ours and the Go service’s, so that no search finds nothing without a word', async () => {
      const { api, path } = await begin()
      await api.report(path, { adapter: 'dns' })
      for (const type of ['Available', 'Ready', 'LastKnownReconciled', 'Reconciled'])
        expect((await api.call('GET', `/clusters?search=status.conditions.${type}='True'`)).body.total).toBe(1)
    })

    test('come in one order, when written and when read', async () => {
      const { api, path } = await begin()
      await api.report(path, { adapter: 'dns' })
      const types = (body: { status: { conditions: { type: string }[] } }) =>
        body.status.conditions.map(({ type }) => type)
      const patched = (await api.call('PATCH', path, { spec: { a: 1 } })).body
      expect(types(patched)).toEqual(types((await api.call('GET', path)).body))
    })

    test('of a kind without required adapters stay empty after a report', async () => {
      const { api } = await begin()
      const { id } = (await api.call('POST', '/channels', { name: 'stable', spec: {} })).body
      expect((await api.report(`/channels/${id}`, { adapter: 'any' })).status).toBe(201)
      const { body } = await api.call('GET', `/channels/${id}`)
      expect([body.status.conditions, body.status.phase]).toEqual([[], 'Ready'])
      expect((await api.call('GET', `/channels/${id}/statuses`)).body.total).toBe(1)
    })

    test('Available survives a required adapter that falls back to Unknown', async () => {
      const { api, clock, path, conditions } = await begin()
      await api.report(path, { adapter: 'dns' })
      const before = await conditions()
      await clock.advance('10s')
      expect((await api.report(path, { adapter: 'dns', available: 'Unknown' })).status).toBe(204)
      expect(await conditions()).toEqual(before)
    })

    test('Ready of a parent is not True while children in deletion are left', async () => {
      const { api, path, conditions } = await begin()
      await api.call('POST', `${path}/nodepools`, { name: 'workers', spec: {} })
      await api.call('DELETE', path)
      await api.report(path, { adapter: 'dns', observed_generation: 2, finalized: 'True' })
      expect(await conditions()).toMatchObject({ Ready: { status: 'False' }, Reconciled: { status: 'False' } })
    })
  })
})
