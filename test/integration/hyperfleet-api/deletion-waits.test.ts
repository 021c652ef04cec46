/** What a deletion waits for besides reports, and what it doesn't wait for any more: API-49 to API-52. */
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { manualClock, postgresMissing } from '#test/harness/index.ts'
import { conditionsOf, freshPostgres, type Json, onBothDatabases, serve, type TestApi } from './support.ts'

type Required = readonly string[] | 'reporting'

const kinds = (required_adapters: Required) => [{ kind: 'Cluster', plural: 'clusters', required_adapters }]

/** The final report of an adapter whose task does not select the resource any more. */
const finalReport = (adapter: string, generation: number, selector = 'pace=slow') => ({
  adapter,
  observed_generation: generation,
  conditions: [
    { type: 'Available', status: 'Unknown', reason: 'NotSelected' },
    { type: 'Applied', status: 'False', reason: 'NotSelected', message: 'everything is deleted' },
    { type: 'Health', status: 'True' },
  ],
  data: { selector },
})

const cleanedUp = { available: 'False', applied: 'False' } as const

const post = (api: TestApi, resourceId: string, reason: string) =>
  api.call('POST', '/events', { resourceType: 'clusters', resourceId, reason })

const claim = async (api: TestApi, group = 'dns'): Promise<Json[]> =>
  (await api.call('POST', `/events/consumers/${group}/claims`, { max: 10 })).body.items

const acknowledge = (api: TestApi, receipt: string, group = 'dns') =>
  api.call('DELETE', `/events/consumers/${group}/claims/${receipt}`)

onBothDatabases((fresh) => {
  const begin = async (required: Required, labels: Record<string, string> = { pace: 'slow' }) => {
    const clock = manualClock()
    const choice = await fresh()
    const api = await serve({ ...choice, entities: kinds(required) }, clock)
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters', labels: 'pace=slow', maxDeliveries: 2 })
    const { id } = await api.cluster('boston', labels)
    const path = `/clusters/${id}`
    return {
      api,
      clock,
      choice,
      id,
      path,
      read: async () => (await api.call('GET', path)).body,
      code: async () => (await api.call('GET', path)).status,
      relabel: (to: Record<string, string>) => api.call('PATCH', path, { labels: to }),
      tell: (report: object) => api.call('PUT', `${path}/statuses`, report),
    }
  }

  describe('a resource that left the selector of a task', () => {
    // API-49
    test.each<[Required]>([[['dns', 'fast']], ['reporting']])(
      'is ready without that adapter, and its deletion does not wait for it: %j',
      async (required) => {
        const { api, path, read, code, relabel, tell } = await begin(required)
        await api.report(path, { adapter: 'dns' })
        await api.report(path, { adapter: 'fast' })
        await relabel({ pace: 'fast' })
        await api.report(path, { adapter: 'fast', observed_generation: 2 })
        expect(conditionsOf(await read()).Ready?.status).toBe('False')
        expect((await tell(finalReport('dns', 2))).status).toBe(201)
        const conditions = conditionsOf(await read())
        expect([conditions.Ready?.status, conditions.Available]).toMatchObject(['True', { observed_generation: 2 }])
        expect(Object.keys(conditions)).not.toContain('DnsSuccessful')
        await api.call('PATCH', path, { spec: { size: 2 } })
        await api.report(path, { adapter: 'fast', observed_generation: 3 })
        expect(conditionsOf(await read()).Ready?.status).toBe('True')
        await api.call('DELETE', path)
        expect((await read()).status.awaited).toEqual(['fast'])
        await api.report(path, { adapter: 'fast', observed_generation: 4, ...cleanedUp })
        expect(await code()).toBe(404)
      },
    )

    test('and is deleted before its adapter has let it go: that report ends the deletion', async () => {
      const { api, path, read, code, relabel, tell } = await begin('reporting')
      await api.report(path, { adapter: 'dns' })
      await relabel({})
      await api.call('DELETE', path)
      expect((await read()).status.awaited).toEqual(['dns'])
      await tell(finalReport('dns', 3))
      expect(await code()).toBe(404)
    })

    test('and enters it again is the adapter’s again, without a report', async () => {
      const { api, path, read, relabel, tell } = await begin(['dns'])
      await api.report(path, { adapter: 'dns' })
      await relabel({})
      await tell(finalReport('dns', 2))
      expect(conditionsOf(await read()).Ready).toMatchObject({
        status: 'True',
        message: 'No adapter’s task selects this resource any more',
      })
      await relabel({ pace: 'slow' })
      expect(conditionsOf(await read()).Ready?.status).toBe('False')
      await api.call('DELETE', path)
      expect((await read()).status.awaited).toEqual(['dns'])
    })

    test.each([
      [
        'whose adapter still fails',
        {
          ...finalReport('dns', 2),
          conditions: finalReport('dns', 2).conditions.with(2, { type: 'Health', status: 'False' }),
        },
      ],
      ['whose adapter names a selector that selects it', finalReport('dns', 2, 'pace notin (slow)')],
      ['whose adapter names no selector', { ...finalReport('dns', 2), data: {} }],
      ['whose adapter names what is no selector', finalReport('dns', 2, 'pace in')],
    ])('%s is not let go', async (_case, report) => {
      const { api, path, read, relabel, tell } = await begin('reporting')
      await api.report(path, { adapter: 'dns' })
      await relabel({})
      await tell(report)
      expect(conditionsOf(await read()).Ready?.status).toBe('False')
    })

    // API-51
    test('is still told to the group that was told of it, and to no other', async () => {
      const { api, id, path, relabel } = await begin('reporting')
      await api.call('PUT', '/events/consumers/other', { resourceType: 'clusters', labels: 'pace=slow,region=eu' })
      await post(api, id, 'New')
      await relabel({ pace: 'fast' })
      await post(api, id, 'SpecChanged')
      await api.report(path, { adapter: 'dns' })
      await api.call('DELETE', path)
      await post(api, id, 'Deleting')
      expect((await claim(api)).map(({ event }) => event.data.reason)).toEqual(['New', 'SpecChanged', 'Deleting'])
      expect(await claim(api, 'other')).toEqual([])
    })
  })

  describe('a deletion while the first run of an adapter is under way', () => {
    const running = async () => {
      const world = await begin('reporting')
      await post(world.api, world.id, 'New')
      const [taken] = await claim(world.api)
      return { ...world, receipt: taken.receipt as string }
    }

    // API-50
    test('waits for the run, then for what the run reports', async () => {
      const { api, path, read, code, receipt } = await running()
      const deleted = (await api.call('DELETE', path)).body
      expect(deleted.status).toMatchObject({ phase: 'Deleting', awaited: [], awaited_groups: ['dns'] })
      expect(conditionsOf(deleted).Ready?.message).toBe(
        'Deletion in progress, waiting for consumer groups [dns] to finish what they began before it',
      )
      await api.report(path, { adapter: 'dns' })
      await acknowledge(api, receipt)
      const { status } = await read()
      expect([status.awaited, status.awaited_groups]).toEqual([['dns'], undefined])
      await api.report(path, { adapter: 'dns', observed_generation: 2, ...cleanedUp })
      expect(await code()).toBe(404)
    })

    test('while another adapter is done with it waits for the run', async () => {
      const { api, path, code, receipt } = await running()
      await api.report(path, { adapter: 'fast' })
      await api.call('DELETE', path)
      await api.report(path, { adapter: 'fast', observed_generation: 2, ...cleanedUp })
      expect(await code()).toBe(200)
      await acknowledge(api, receipt)
      expect(await code()).toBe(404)
    })

    test('goes with the end of a run that reports nothing, and lets its parent go', async () => {
      const { api, path, code, receipt } = await running()
      await api.call('DELETE', path)
      expect(await code()).toBe(200)
      await acknowledge(api, receipt)
      expect(await code()).toBe(404)
      expect((await api.call('GET', '/archive/clusters')).body.total).toBe(1)
    })

    test('is delivered again to the next process when the first was killed, and waits for that one', async () => {
      const { api, clock, path, code } = await running()
      await api.call('DELETE', path)
      await clock.advance('1m')
      expect(await code()).toBe(200)
      const [again] = await claim(api)
      expect(again.deliveries).toBe(2)
      await acknowledge(api, again.receipt)
      expect(await code()).toBe(404)
    })

    test('does not wait for a run that is given up, or whose group is removed', async () => {
      const one = await running()
      await one.api.call('DELETE', one.path)
      await one.api.call('POST', `/events/consumers/dns/claims/${one.receipt}/dead-letter`)
      expect(await one.code()).toBe(404)
      const two = await running()
      await two.api.call('DELETE', two.path)
      await two.api.call('DELETE', '/events/consumers/dns')
      expect(await two.code()).toBe(404)
    })

    test('does not wait for an event that no consumer has taken: its run will find the record gone', async () => {
      const { api, id, path, code } = await begin('reporting')
      await post(api, id, 'New')
      await api.call('DELETE', path)
      expect(await code()).toBe(404)
      expect(await claim(api)).toMatchObject([{ event: { data: { id } } }])
    })
  })

  // API-52
  test('a deletion that waits for an adapter which the configuration requires no more goes at the next start', async () => {
    const choice = await fresh()
    const before = await serve({ ...choice, entities: kinds(['dns', 'retired']) })
    const path = `/clusters/${(await before.cluster('one')).id}`
    await before.call('DELETE', path)
    await before.report(path, { adapter: 'dns', observed_generation: 2, ...cleanedUp })
    await before.stop()
    const after = await serve({ ...choice, entities: kinds(['dns']) })
    await expect.poll(async () => (await after.call('GET', path)).status, { timeout: 30_000 }).toBe(404)
  })
})

const missing = findPostgres() === undefined
describe.skipIf(missing)(`on PostgreSQL${missing ? ` (skipped: ${postgresMissing()})` : ''}`, () => {
  const database = async () => {
    const { databaseUrl } = await freshPostgres()
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    onTestFinished(() => client.end())
    const api = await serve({ databaseUrl, entities: kinds('reporting') })
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
    const { id } = await api.cluster('one')
    await post(api, id, 'New')
    return { databaseUrl, client, api, path: `/clusters/${id}` }
  }

  test('an event that is being taken while its resource is deleted counts as taken', async () => {
    const { client, api, path } = await database()
    await client.query('begin')
    await client.query("select 1 from event_deliveries where consumer = 'dns' for update")
    const deleted = (await api.call('DELETE', path)).body
    expect(deleted.status.awaited_groups).toEqual(['dns'])
    await client.query("update event_deliveries set deliveries = 1, claim = 'one' where consumer = 'dns'")
    await client.query('commit')
    expect((await api.call('GET', path)).status).toBe(200)
    await api.call('DELETE', '/events/consumers/dns')
    expect((await api.call('GET', path)).status).toBe(404)
  })

  test('an acknowledgement after which the process was killed is noticed by the next one', async () => {
    const { databaseUrl, client, api, path } = await database()
    await claim(api)
    await api.call('DELETE', path)
    await api.stop()
    await client.query("delete from event_deliveries where consumer = 'dns'")
    const next = await serve({ databaseUrl, entities: kinds('reporting') })
    await expect.poll(async () => (await next.call('GET', path)).status, { timeout: 30_000 }).toBe(404)
  })

  // API-52
  test('an acknowledgement is answered although its deletion can’t be looked at now, also when another writer holds it', async () => {
    const { databaseUrl, client, api, path } = await database()
    const [{ receipt }] = await claim(api)
    await api.call('DELETE', path)
    await client.query('begin')
    await client.query(`select 1 from resources where id = '${path.split('/').at(-1)}' for update`)
    expect((await acknowledge(api, receipt)).status).toBe(204)
    await client.query('rollback')
    expect((await api.call('GET', path)).status).toBe(200)
    await client.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`,
    )
    await client.query('create trigger refused before delete on resources for each row execute function refuse()')
    const { id } = await api.cluster('two')
    await post(api, id, 'New')
    const [second] = await claim(api)
    await api.call('DELETE', `/clusters/${id}`)
    expect((await acknowledge(api, second.receipt)).status).toBe(204)
    expect((await api.call('DELETE', '/events/consumers/dns')).status).toBe(204)
    await client.query('drop trigger refused on resources')
    const next = await serve({ databaseUrl, entities: kinds('reporting') })
    for (const gone of [path, `/clusters/${id}`])
      await expect.poll(async () => (await next.call('GET', gone)).status, { timeout: 30_000 }).toBe(404)
  }, 60_000)
})
