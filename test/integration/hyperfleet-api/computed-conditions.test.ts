import { describe, expect, test } from 'vitest'
import type { EntityConfig } from '#services/hyperfleet-api/model/entity-config.ts'
import { manualClock } from '#test/harness/index.ts'
import { conditionsOf, onBothDatabases, serve } from './support.ts'

const text = (expression: string) => ({ expression })

/** Says whether the zone is there, as soon as the adapter dns has said anything of it. */
const zoneReady = {
  type: 'ZoneReady',
  when: text('statuses.exists(s, s.adapter == "dns" && has(s.data.zone))'),
  output: {
    status: text('statuses.filter(s, s.adapter == "dns")[0].data.zone.ready ? "True" : "False"'),
    reason: text('"AsReported"'),
    message: text('"zone " + statuses.filter(s, s.adapter == "dns")[0].data.zone.name'),
  },
}

const kinds = (required_adapters: EntityConfig['required_adapters']): EntityConfig[] => [
  { kind: 'Cluster', plural: 'clusters', required_adapters: required_adapters ?? [], conditions: [zoneReady] },
]

onBothDatabases((fresh) => {
  const begin = async (required: EntityConfig['required_adapters'] = ['dns']) => {
    const clock = manualClock()
    const api = await serve({ ...(await fresh()), entities: kinds(required) }, clock)
    const { id } = await api.cluster('one')
    const path = `/clusters/${id}`
    const conditions = async () => conditionsOf((await api.call('GET', path)).body)
    return { api, clock, path, conditions }
  }

  describe('a condition by CEL', () => {
    test('comes with the report that it is about, can be searched for, and goes when its rule no longer applies', async () => {
      const { api, clock, path, conditions } = await begin()
      expect((await conditions()).ZoneReady).toBeUndefined()
      await api.report(path, { adapter: 'dns', data: { zone: { ready: true, name: 'a' } } })
      expect((await conditions()).ZoneReady).toMatchObject({
        status: 'True',
        message: 'zone a',
        observed_generation: 1,
      })
      const found = await api.call('GET', "/clusters?search=status.conditions.ZoneReady='True'")
      expect(found.body.total).toBe(1)
      await clock.advance('1s')
      await api.report(path, { adapter: 'dns', data: {} })
      expect((await conditions()).ZoneReady).toBeUndefined()
      expect((await api.call('GET', "/clusters?search=status.conditions.ZoneReady='True'")).body.total).toBe(0)
    })

    test('follows a change of the resource, and leaves Available and Ready alone', async () => {
      const { api, path, conditions } = await begin()
      await api.report(path, { adapter: 'dns', data: { zone: { ready: false, name: 'a' } } })
      expect((await conditions()).Ready).toMatchObject({ status: 'True' })
      await api.call('PATCH', path, { spec: { a: 1 } })
      expect(await conditions()).toMatchObject({
        ZoneReady: { status: 'False', observed_generation: 2 },
        Ready: { status: 'False', observed_generation: 2 },
        Available: { status: 'True', observed_generation: 1 },
      })
    })

    test('sees what else a first Unknown says, and aggregates nothing of it', async () => {
      const { api, path, conditions } = await begin()
      const { Ready } = await conditions()
      await api.report(path, { adapter: 'dns', available: 'Unknown', data: { zone: { ready: false, name: 'a' } } })
      expect(await conditions()).toMatchObject({ ZoneReady: { status: 'False' }, Ready })
    })

    // The peer answers 500 and drops the report.
    // API-21
    test('that can’t be evaluated keeps what it was and says so; the report is stored', async () => {
      const { api, clock, path, conditions } = await begin()
      await api.report(path, { adapter: 'dns', data: { zone: { ready: true, name: 'a' } } })
      await clock.advance('1s')
      const broken = await api.report(path, { adapter: 'dns', data: { zone: { name: 'b' } } })
      expect([broken.status, broken.body.data]).toEqual([201, { zone: { name: 'b' } }])
      expect((await conditions()).ZoneReady).toMatchObject({
        status: 'True',
        reason: 'EvaluationFailed',
        message: expect.stringContaining('status has no value'),
        last_updated_time: '2026-01-01T00:00:00.000000Z',
      })
      await clock.advance('1s')
      await api.report(path, { adapter: 'dns', data: { zone: { ready: true, name: 'c' } } })
      expect((await conditions()).ZoneReady).toMatchObject({ reason: 'AsReported', message: 'zone c' })
    })

    test('of a kind that requires no adapter is its only one', async () => {
      const { api, path, conditions } = await begin([])
      expect(await conditions()).toEqual({})
      await api.report(path, { adapter: 'dns', data: { zone: { ready: true, name: 'a' } } })
      expect(Object.keys(await conditions())).toEqual(['ZoneReady'])
    })
  })

  test('a rule that can’t be meant keeps the server from starting', async () => {
    const [kind] = kinds([])
    const entities = [{ kind: 'Cluster', plural: 'clusters', ...kind, conditions: [{ ...zoneReady, type: 'Ready' }] }]
    await expect(serve({ ...(await fresh()), entities })).rejects.toThrow("condition Ready of Cluster is the API's own")
  })
})
