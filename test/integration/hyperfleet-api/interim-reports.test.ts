/** Reports of Available=Unknown about a resource that the adapter has reported on: API-48. */
import { describe, expect, test } from 'vitest'
import { manualClock } from '#test/harness/index.ts'
import { conditionsOf, type Json, onBothDatabases, serve } from './support.ts'

const entities = [{ kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'] }]

/** What a run reports that fails before it has looked at anything. */
const failure = (reason: string, generation: number) => ({
  adapter: 'dns',
  observed_generation: generation,
  conditions: [
    { type: 'Available', status: 'Unknown', reason, message: 'the resources were not looked at' },
    { type: 'Applied', status: 'Unknown', reason },
    { type: 'Health', status: 'False', reason, message: 'params, region: no value' },
    { type: 'Finalized', status: 'False', reason: 'AdapterUnhealthy' },
  ],
})

onBothDatabases((fresh) => {
  describe.each(['PUT', 'POST'])('a failed run that is told by %s', (method) => {
    const begin = async () => {
      const clock = manualClock()
      const api = await serve({ ...(await fresh()), entities }, clock)
      const path = `/clusters/${(await api.cluster('one')).id}`
      return {
        api,
        clock,
        path,
        tell: (report: object) => api.call(method, `${path}/statuses`, report),
        read: async () => (await api.call('GET', path)).body,
        shown: async (): Promise<Json> => (await api.call('GET', `${path}/statuses`)).body.items[0],
      }
    }

    // API-48
    test('shows through a whole failed deletion, until the clean-up lets the record go', async () => {
      const { api, clock, path, tell, read, shown } = await begin()
      await api.report(path, { adapter: 'dns', data: { zone: 'a' } })
      await api.call('DELETE', path)
      const deleting = await read()
      for (const reason of ['ParamMissing', 'PreconditionFailed', 'ExpressionFailed']) {
        await clock.advance('10s')
        const answer = await tell(failure(reason, 2))
        expect([answer.status, answer.headers.get('muster-discarded')]).toEqual([204, 'AvailableUnknown'])
        const status = await shown()
        expect(Object.fromEntries(status.conditions.map((one: Json) => [one.type, one.status]))).toEqual({
          Available: 'True',
          Applied: 'True',
          Health: 'False',
        })
        expect(status.conditions.find(({ type }: Json) => type === 'Health')).toMatchObject({
          reason,
          message: 'params, region: no value',
          last_transition_time: '2026-01-01T00:00:10.000000Z',
        })
        expect(status).toMatchObject({
          observed_generation: 1,
          last_report_time: '2026-01-01T00:00:00.000000Z',
          data: { zone: 'a' },
          latest_report: { observed_generation: 2, observed_time: clock.now().toISOString().replace('Z', '000Z') },
        })
        expect(await read()).toEqual(deleting)
      }
      await api.report(path, { adapter: 'dns', observed_generation: 2, available: 'False', applied: 'False' })
      expect((await api.call('GET', path)).status).toBe(404)
      expect((await api.call('GET', '/archive/clusters')).body.items[0].statuses[0]).not.toHaveProperty('latest_report')
    })

    test('leaves Available and Ready, and is over with the next report that is aggregated', async () => {
      const { api, clock, path, tell, read, shown } = await begin()
      await api.report(path, { adapter: 'dns' })
      const ready = await read()
      expect(conditionsOf(ready).Ready?.status).toBe('True')
      await clock.advance('10s')
      await tell({ ...failure('ParamMissing', 1), data: { attempt: 2 }, metadata: { job_name: 'one' } })
      expect(await read()).toEqual(ready)
      expect(await shown()).toMatchObject({ data: { attempt: 2 }, metadata: { job_name: 'one' } })
      await clock.advance('10s')
      await api.report(path, { adapter: 'dns' })
      const after = await shown()
      expect(after).not.toHaveProperty('latest_report')
      expect(after.conditions.find(({ type }: Json) => type === 'Health')?.status).toBe('True')
    })

    test('does not hide behind one that was observed earlier and comes later', async () => {
      const { api, clock, path, tell, shown } = await begin()
      await api.report(path, { adapter: 'dns' })
      await clock.advance('30s')
      await tell(failure('ParamMissing', 1))
      await api.report(path, { adapter: 'dns', available: 'False', observed_time: '2026-01-01T00:00:20Z' })
      const late = await tell({ ...failure('Late', 1), observed_time: '2026-01-01T00:00:25Z' })
      expect(late.headers.get('muster-discarded')).toBe('OlderReport')
      const { conditions } = await shown()
      expect(conditions.map(({ type, status }: Json) => [type, status])).toEqual([
        ['Available', 'False'],
        ['Applied', 'True'],
        ['Health', 'False'],
      ])
    })
  })
})
