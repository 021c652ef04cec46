/**
 * Programs that were written for the Go service, as they call it: its Sentinel, its adapter, and people with curl. They
 * know nothing of what is new here, and ignore fields that they don't know.
 */
import { expect, test } from 'vitest'
import { manualClock } from '#test/harness/index.ts'
import { conditionsOf, type Json, onBothDatabases, requestTo, serve } from './support.ts'

const entities = [
  { kind: 'Cluster', plural: 'clusters', required_adapters: ['validation', 'dns'], name_min_len: 3, name_max_len: 53 },
  { kind: 'NodePool', plural: 'nodepools', parent_kind: 'Cluster', required_adapters: ['machines'] },
]

const search = (text: string): string => `search=${encodeURIComponent(text)}`

/** A report as the Go adapter sends it: whole seconds, and null for what it leaves out. */
const report = (adapter: string, generation: number, observed_time: string, statuses: Json) => ({
  adapter,
  observed_generation: generation,
  observed_time,
  conditions: Object.entries(statuses).map(([type, status]) => ({ type, status, reason: 'Observed', message: '' })),
  data: null,
  metadata: { job_name: 'job', attempt: 1, started_time: null },
})

const DONE = { Applied: 'True', Available: 'True', Health: 'True', Finalized: 'False' }
const GONE = { Applied: 'False', Available: 'False', Health: 'True', Finalized: 'True' }

onBothDatabases((fresh) => {
  const begin = async () => {
    const clock = manualClock('2026-01-31T12:00:00Z')
    const build = { version: '1.2.3', time: '2026-01-30T12:00:00.000Z' }
    const api = await serve({ ...(await fresh()), entities, build }, clock)
    return { clock, api, call: api.call }
  }

  test('its Sentinel: probes at the start, pages through its shard until it has all, and sees who is due', async () => {
    const { clock, call, api } = await begin()
    const probe = await call('GET', `/clusters?${search("labels.non_existing_label='value'")}&size=1`)
    expect([probe.status, probe.body]).toEqual([200, { items: [], page: 1, size: 0, total: 0 }])

    for (const name of ['one', 'two', 'three']) await api.cluster(name, { region: 'us-east', tier: 'gold' })
    await api.cluster('elsewhere', { region: 'us-west', tier: 'gold' })
    const shard = search("labels.region='us-east' and labels.tier='gold'")
    const collected: Json[] = []
    for (let page = 1, total = 1; collected.length < total; page++) {
      const { status, body } = await call('GET', `/clusters?page=${page}&size=2&${shard}`)
      expect([status, body.page]).toEqual([200, page])
      total = body.total
      collected.push(...body.items)
    }
    expect(collected.map(({ name }) => name)).toEqual(['three', 'two', 'one'])

    // Reconciled with its age is all that its rules look at.
    const [newest] = collected
    expect(newest).toMatchObject({ kind: 'Cluster', href: `/api/hyperfleet/v1/clusters/${newest.id}`, generation: 1 })
    expect(conditionsOf(newest).Reconciled).toMatchObject({
      status: 'False',
      reason: 'ReconciledMissingAdapters',
      observed_generation: 1,
      last_updated_time: '2026-01-31T12:00:00.000000Z',
    })
    await clock.advance('1m')
    for (const adapter of ['validation', 'dns'])
      await call('PUT', `/clusters/${newest.id}/statuses`, report(adapter, 1, '2026-01-31T12:01:00Z', DONE))
    const due = search("status.conditions.Reconciled='False' and labels.region='us-east'")
    expect((await call('GET', `/clusters?${due}`)).body.total).toBe(2)
    const stale = search(
      "status.conditions.Reconciled='True' and status.conditions.Reconciled.last_updated_time<='2026-01-31T12:31:00Z'",
    )
    expect((await call('GET', `/clusters?${stale}`)).body.items).toMatchObject([{ id: newest.id }])
  })

  test('its adapter: reads what an event names, reports until it is done, cleans up, and finds nothing afterwards', async () => {
    const { clock, call, api } = await begin()
    const { id } = await api.cluster('one')
    const path = `/clusters/${id}`
    expect((await call('GET', path)).body).not.toHaveProperty('deleted_time')

    const put = (adapter: string, generation: number, seconds: string, statuses: Json) =>
      call('PUT', `${path}/statuses`, report(adapter, generation, `2026-01-31T12:${seconds}Z`, statuses))
    const first = await put('validation', 1, '00:00', { ...DONE, Available: 'Unknown' })
    expect([first.status, Object.keys(first.body).toSorted()]).toEqual([
      201,
      ['adapter', 'conditions', 'created_time', 'data', 'last_report_time', 'metadata', 'observed_generation'],
    ])
    expect(first.body).toMatchObject({ data: {}, metadata: { job_name: 'job', attempt: 1 } })
    expect((await put('validation', 1, '00:01', { ...DONE, Available: 'Unknown' })).status).toBe(204)
    expect((await put('validation', 2, '00:01', DONE)).status).toBe(204)
    expect((await put('validation', 1, '00:01', DONE)).status).toBe(201)
    expect((await put('validation', 1, '00:00', DONE)).status).toBe(204)
    expect((await put('dns', 1, '00:02', DONE)).status).toBe(201)
    const ready = conditionsOf((await call('GET', path)).body)
    expect([ready.Reconciled?.reason, ready.LastKnownReconciled?.reason]).toEqual([
      'ReconciledAll',
      'AllAdaptersReconciled',
    ])
    expect(ready).toMatchObject({ ValidationSuccessful: { status: 'True' }, DnsSuccessful: { status: 'True' } })
    expect((await call('GET', `${path}/statuses?page=1&size=100`)).body).toMatchObject({ size: 2, total: 2 })

    await clock.advance('1m')
    const deleted = await call('DELETE', path)
    expect([deleted.status, deleted.body.generation, deleted.body.deleted_time]).toEqual([
      202,
      2,
      '2026-01-31T12:01:00.000000Z',
    ])
    expect(conditionsOf(deleted.body).Reconciled?.status).toBe('False')
    for (const adapter of ['validation', 'dns']) expect((await put(adapter, 2, '01:01', GONE)).status).toBe(201)
    const gone = await call('GET', path)
    expect([gone.status, gone.body.code]).toEqual([404, 'HYPERFLEET-NTF-001'])
    expect((await put('dns', 2, '01:02', GONE)).status).toBe(404)
  })

  test('its adapter of node pools: finds the owner in the event, and reports below it', async () => {
    const { call, api } = await begin()
    const cluster = await api.cluster('one')
    const pool = (await call('POST', `/clusters/${cluster.id}/nodepools`, { kind: 'NodePool', name: 'pool', spec: {} }))
      .body
    // What the Sentinel's message says of a child.
    expect([pool.owner_references, pool.href]).toEqual([
      { id: cluster.id, kind: 'Cluster', href: cluster.href },
      `${cluster.href}/nodepools/${pool.id}`,
    ])
    const path = `/clusters/${pool.owner_references.id}/nodepools/${pool.id}`
    expect((await call('GET', path)).body).toEqual(pool)
    const done = report('machines', 1, '2026-01-31T12:00:00Z', DONE)
    expect((await call('PUT', `${path}/statuses`, done)).status).toBe(201)
    expect((await call('PUT', `/clusters/${pool.id}/nodepools/${pool.id}/statuses`, done)).status).toBe(404)
    expect(conditionsOf((await call('GET', path)).body).Reconciled?.status).toBe('True')
  })

  test('people: make, change, refuse, list, delete and force-delete, with the codes and problems that they know', async () => {
    const { api, call } = await begin()
    const about = await requestTo(api.url)('GET', '/api/hyperfleet')
    expect(about.body).toEqual({
      id: 'hyperfleet',
      kind: 'API',
      href: '/api/hyperfleet',
      version: '1.2.3',
      build_time: '2026-01-30T12:00:00.000Z',
    })

    const draft = { kind: 'Cluster', name: 'one', labels: { region: 'us-east' }, spec: { version: '4.20' } }
    const made = await call('POST', '/clusters', draft)
    expect(made.status).toBe(201)
    const path = `/clusters/${made.body.id}`
    const twice = await call('POST', '/clusters', draft)
    expect([twice.status, twice.body.code, twice.headers.get('content-type')]).toEqual([
      409,
      'HYPERFLEET-CNF-001',
      'application/problem+json',
    ])
    expect(twice.body.trace_id).toBe(twice.headers.get('x-request-id'))

    const renamed = await call('PATCH', path, { name: 'two' })
    expect([renamed.status, renamed.body.code]).toEqual([400, 'HYPERFLEET-VAL-006'])
    const patched = await call('PATCH', path, { spec: { version: '4.21' } })
    expect([patched.status, patched.body.generation, patched.body.labels]).toEqual([200, 2, { region: 'us-east' }])
    const list = await call('GET', '/clusters?order=name%20asc&fields=name,generation&pageSize=1')
    expect(list.body).toEqual({ items: [{ id: made.body.id, name: 'one', generation: 2 }], page: 1, size: 1, total: 1 })

    const early = await call('POST', `${path}/force-delete`, { reason: 'stuck' })
    expect([early.status, early.body.code]).toEqual([409, 'HYPERFLEET-CNF-003'])
    expect((await call('DELETE', path)).status).toBe(202)
    const again = await call('DELETE', path)
    expect([again.status, again.body.generation]).toEqual([202, 3])
    expect((await call('PATCH', path, { spec: {} })).body.code).toBe('HYPERFLEET-CNF-003')
    const forced = await call('POST', `${path}/force-delete`, { reason: 'stuck' })
    expect([forced.status, forced.body]).toEqual([204, undefined])
    expect((await call('GET', path)).status).toBe(404)
  })
})
