/** GET …/explain and DELETE …?dry_run=true: API-53 and API-54. */
import { describe, expect, test } from 'vitest'
import { cleanedUp, raiseFamily } from './family.ts'
import { type Json, onBothDatabases, serve } from './support.ts'

onBothDatabases((fresh) => {
  const explain = async (api: { call: Json }, path: string): Promise<Json> => {
    const { status, body } = await api.call('GET', `${path}/explain`)
    expect(status).toBe(200)
    return body
  }

  describe('explain', () => {
    // API-53
    test('of a deletion names each adapter with its last report, what it left, and what was discarded', async () => {
      const { api, clock, cluster, machine } = await raiseFamily(await fresh())
      await api.report(machine, { adapter: 'machines' })
      await api.report(machine, { adapter: 'extra' })
      await api.call('DELETE', cluster)
      await clock.advance('10s')
      await api.report(machine, { adapter: 'extra', ...cleanedUp })
      await api.call('PUT', `${machine}/statuses`, {
        adapter: 'machines',
        observed_generation: 2,
        conditions: [
          { type: 'Available', status: 'Unknown', reason: 'ParamMissing' },
          { type: 'Applied', status: 'Unknown', reason: 'ParamMissing' },
          { type: 'Health', status: 'False', reason: 'ParamMissing', message: 'params, region: no value' },
        ],
      })
      const body = await explain(api, machine)
      expect(body).toMatchObject({ kind: 'Machine', phase: 'Deleting', generation: 2, remaining: [], children: [] })
      expect(body.waits_for).toEqual([
        'adapter machines: its last report is of generation 1, not of 2; it is not healthy: ParamMissing: params, region: no value',
      ])
      expect(
        body.adapters.map(({ adapter, required, awaited, state }: Json) => [adapter, required, awaited, state]),
      ).toEqual([
        ['extra', false, false, 'CleanedUp'],
        ['machines', true, true, 'Awaited'],
      ])
      expect(body.adapters[1].status.latest_report.observed_generation).toBe(2)
      expect(body.discarded).toMatchObject([{ reason: 'AvailableUnknown', report: { adapter: 'machines' } }])
      const finalizers = ['example.com/hold']
      const remaining = [{ kind: 'Job', namespace: 'a', name: 'b', finalizers }]
      await api.report(machine, { adapter: 'machines', ...cleanedUp, applied: 'True', data: { remaining } })
      expect((await explain(api, machine)).remaining).toMatchObject([{ adapter: 'machines', object: remaining[0] }])
    })

    // API-160
    test('of an undecided kind says what to write, before a report and after it', async () => {
      const entities = [{ kind: 'Cluster', plural: 'clusters', required_adapters: 'undecided' }] as const
      const api = await serve({ ...(await fresh()), entities })
      const { id } = (await api.call('POST', '/clusters', { name: 'one', spec: {} })).body
      const waits = async () => (await explain(api, `/clusters/${id}`)).waits_for
      const undecided = 'required_adapters of Cluster, which is undecided: name there the adapters that must report'
      expect(await waits()).toEqual([undecided])
      await api.report(`/clusters/${id}`, { adapter: 'dns' })
      expect(await waits()).toEqual([undecided])
      expect((await api.call('GET', `/clusters/${id}`)).body.status.phase).toBe('NotReady')
      expect((await api.call('GET', '/kinds')).body.items).toMatchObject([{ required_adapters: 'undecided' }])
    })

    test('of a parent names its children, on every level and at every path', async () => {
      const { api, cluster, pool, machine } = await raiseFamily(await fresh())
      await api.call('DELETE', cluster)
      await api.report(cluster, { adapter: 'dns', ...cleanedUp })
      await api.report(pool, { adapter: 'pools', ...cleanedUp })
      const [, , id] = pool.split('/')
      expect((await explain(api, cluster)).waits_for).toEqual([`NodePool pool (${id}): it is not removed yet`])
      expect(await explain(api, `${cluster}${pool}`)).toEqual(await explain(api, pool))
      expect((await explain(api, `/resources/${machine.split('/')[2]}`)).kind).toBe('Machine')
      expect((await api.call('GET', '/clusters/none/explain')).status).toBe(404)
    })

    test('of a living resource says who has yet to agree, and of a ready one nothing', async () => {
      const { api, cluster } = await raiseFamily(await fresh())
      expect((await explain(api, cluster)).waits_for).toEqual([
        'adapter dns: it has never reported, on no Cluster at all: is there a task for it?',
      ])
      const { body: other } = await api.call('POST', '/clusters', { kind: 'Cluster', name: 'other', spec: {} })
      await api.report(`/clusters/${other.id}`, { adapter: 'dns' })
      expect((await explain(api, cluster)).waits_for).toEqual(['adapter dns: it has never reported'])
      await api.report(cluster, { adapter: 'dns', available: 'False' })
      expect((await explain(api, cluster)).waits_for).toEqual(['adapter dns: it says Available=False'])
      await api.report(cluster, { adapter: 'dns' })
      expect(await explain(api, cluster)).toMatchObject({ phase: 'Ready', waits_for: [] })
      await api.call('PATCH', cluster, { spec: { a: 1 } })
      expect((await explain(api, cluster)).adapters[0]).toMatchObject({ state: 'Outdated', awaited: true })
    })

    test('has the last pulse and the place in each group’s queue', async () => {
      const api = await serve({
        ...(await fresh()),
        entities: [{ kind: 'Cluster', plural: 'clusters', required_adapters: 'reporting' }],
      })
      await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
      await api.call('PUT', '/events/consumers/other', { resourceType: 'clusters' })
      const pulse = (id: string, reason: string) =>
        api.call('POST', '/events', {
          resourceType: 'clusters',
          resourceId: id,
          reason,
          source: 'sentinel/eu',
          nextTime: '2026-01-01T00:00:10Z',
        })
      const one = (await api.cluster('one')).id
      const two = (await api.cluster('two')).id
      await pulse(one, 'New')
      await pulse(two, 'New')
      await api.call('POST', '/events/consumers/other/claims', { max: 2 })
      const body = await explain(api, `/clusters/${two}`)
      expect(body.pulses.last).toMatchObject({ reason: 'New', time: '2026-01-01T00:00:00.000000Z' })
      expect(body.pulses.next).toEqual({ time: '2026-01-01T00:00:10.000000Z' })
      expect(body.queue.map(({ group, state, position }: Json) => [group, state, position])).toEqual([
        ['dns', 'Waiting', 2],
        ['other', 'Taken', undefined],
      ])
      expect(body.waits_for).toEqual(['the first report of an adapter'])
      await api.call('DELETE', `/clusters/${two}`)
      expect((await explain(api, `/clusters/${two}`)).waits_for).toEqual([
        'consumer group other: it took an event before the deletion and has not finished with it',
      ])
    })
  })

  describe('DELETE with dry_run', () => {
    // API-54
    test('shows the tree and what each waits for, and changes nothing', async () => {
      const { api, cluster, pool, machine, read } = await raiseFamily(await fresh())
      await api.report(machine, { adapter: 'extra' })
      const before = await Promise.all([cluster, pool, machine].map(read))
      const { status, body } = await api.call('DELETE', `${cluster}?dry_run=true`)
      expect([status, body.dry_run, body.blocked]).toEqual([200, true, false])
      expect(body.resources.map(({ name, depth, awaited }: Json) => [name, depth, awaited])).toEqual([
        ['one', 0, ['dns']],
        ['pool', 1, ['pools']],
        ['machine', 2, ['extra', 'machines']],
      ])
      expect(await Promise.all([cluster, pool, machine].map(read))).toEqual(before)
    })

    test('says what would make it 409, on any level', async () => {
      const { api, cluster, pool } = await raiseFamily(await fresh())
      await api.call('POST', `${pool}/locks`, { name: 'lock', spec: {} })
      const { status, body } = await api.call('DELETE', `${cluster}?dry_run=true`)
      expect([status, body.blocked]).toEqual([200, true])
      expect(body.resources[1].blocked_by).toMatchObject([{ kind: 'Lock', name: 'lock', why: 'Restricted' }])
      expect((await api.call('DELETE', cluster)).status).toBe(409)
      expect((await api.call('DELETE', '/clusters/none?dry_run=true')).status).toBe(404)
    })
  })
})
