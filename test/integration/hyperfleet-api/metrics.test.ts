import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { type Database, openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import {
  deletingQuery,
  notReadyQuery,
  stuckDeletionsQuery,
} from '#services/hyperfleet-api/storage/pending-reconciliations.ts'
import { manualClock } from '#test/harness/index.ts'
import { entities, finalized } from './family.ts'
import { onBothDatabases, serve } from './support.ts'

const LOCAL = { host: '127.0.0.1', port: 0 }

/** The samples of one metric, by their labels without those that every metric has. */
const samplesOf = (text: string, name: string): Record<string, number> =>
  Object.fromEntries(
    [...text.matchAll(new RegExp(`^${name}\\{(.*)\\} (.*)$`, 'gm'))].map(([, labels = '', value]) => [
      labels
        .split(',')
        .filter((label) => !/^(component|version)=/.test(label))
        .join(),
      Number(value),
    ]),
  )

const WAITING = 'hyperfleet_api_resource_pending_reconciliation'

onBothDatabases((fresh) => {
  const begin = async () => {
    const clock = manualClock()
    const api = await serve({ ...(await fresh()), entities, metrics: LOCAL, stuckAfter: 600_000 }, clock)
    const scrape = async () => (await fetch(`${api.metricsUrl}/metrics`)).text()
    const make = async (path: string, name: string) => (await api.call('POST', path, { name, spec: {} })).body.id
    return { api, clock, scrape, make }
  }

  test('what waits for adapters is counted, by kind and by whether it is in deletion', async () => {
    const { api, clock, scrape, make } = await begin()
    const one = `/clusters/${await make('/clusters', 'one')}`
    await make('/clusters', 'two')
    const pool = `/nodepools/${await make(`${one}/nodepools`, 'pool')}`
    await clock.advance('5m')
    await api.call('DELETE', one)
    await clock.advance('6m')
    const text = await scrape()
    expect(samplesOf(text, WAITING)).toMatchObject({
      'resource_type="Cluster",is_delete="false"': 1,
      'resource_type="Cluster",is_delete="true"': 1,
      'resource_type="NodePool",is_delete="false"': 0,
      'resource_type="NodePool",is_delete="true"': 1,
      'resource_type="Machine",is_delete="true"': 0,
    })
    // The deletion began 6 minutes ago, although the cluster has not been ready for 11.
    expect(samplesOf(text, `${WAITING}_stuck`)).toMatchObject({
      'resource_type="Cluster",is_delete="false"': 1,
      'resource_type="Cluster",is_delete="true"': 0,
    })
    expect(samplesOf(text, `${WAITING}_stuck_duration_seconds`)).toMatchObject({
      'resource_type="Cluster",is_delete="false"': 660,
      'resource_type="Cluster",is_delete="true"': 0,
    })
    expect(samplesOf(text, 'hyperfleet_api_deletions_pending')).toMatchObject({
      'resource_type="Cluster"': 1,
      'resource_type="Lock"': 0,
    })
    expect(samplesOf(text, 'hyperfleet_api_deletion_oldest_age_seconds')).toMatchObject({
      'resource_type="Cluster"': 360,
      'resource_type="Lock"': 0,
    })
    await api.report(pool, { adapter: 'pools', ...finalized })
    await api.report(one, { adapter: 'dns', ...finalized })
    expect(samplesOf(await scrape(), 'hyperfleet_api_deletions_pending')).toMatchObject({
      'resource_type="Cluster"': 0,
    })
  })

  test('a stuck deletion is counted for each adapter that it waits for, and for its children when for none', async () => {
    const { api, clock, scrape, make } = await begin()
    const one = `/clusters/${await make('/clusters', 'one')}`
    const pool = `/nodepools/${await make(`${one}/nodepools`, 'pool')}`
    await api.report(pool, { adapter: 'extra' })
    for (const adapter of ['x'.repeat(64), 'a"} 1', 'new\nline']) await api.report(pool, { adapter })
    await api.call('DELETE', one)
    await api.report(one, { adapter: 'dns', ...finalized })
    await clock.advance('10m')
    expect(samplesOf(await scrape(), 'hyperfleet_api_deletions_stuck')).toEqual({})
    await clock.advance('1s')
    expect(samplesOf(await scrape(), 'hyperfleet_api_deletions_stuck')).toEqual({
      'resource_type="Cluster",adapter=""': 1,
      'resource_type="NodePool",adapter="extra"': 1,
      'resource_type="NodePool",adapter="other"': 3,
      'resource_type="NodePool",adapter="pools"': 1,
    })
    await api.report(pool, { adapter: 'extra', ...finalized })
    expect(samplesOf(await scrape(), 'hyperfleet_api_deletions_stuck')).not.toHaveProperty(
      'resource_type="NodePool",adapter="extra"',
    )
  })

  // API-50
  test('a stuck deletion that waits for a run is counted for its consumer group', async () => {
    const { api, clock, scrape, make } = await begin()
    await api.call('PUT', '/events/consumers/late', { resourceType: 'clusters' })
    const id = await make('/clusters', 'one')
    await api.call('POST', '/events', { resourceType: 'clusters', resourceId: id, reason: 'New' })
    await api.call('POST', '/events/consumers/late/claims', { max: 1 })
    await api.call('DELETE', `/clusters/${id}`)
    await api.report(`/clusters/${id}`, { adapter: 'dns', ...finalized })
    await clock.advance('11m')
    expect(samplesOf(await scrape(), 'hyperfleet_api_deletions_stuck')).toEqual({
      'resource_type="Cluster",adapter="group late"': 1,
    })
  })

  // API-158
  test('what waits in the queue is told as it is at that scrape, not at the one before', async () => {
    const { api, clock, scrape, make } = await begin()
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters', maxDeliveries: 1 })
    const resourceId = await make('/clusters', 'one')
    await api.call('POST', '/events', { resourceType: 'clusters', resourceId, reason: 'New' })
    await clock.advance('1m')
    const told = async () => {
      const text = await scrape()
      return Object.fromEntries(
        ['queue_depth', 'queue_oldest_age_seconds', 'dead_letters'].map((name) => [
          name,
          samplesOf(text, `hyperfleet_api_event_${name}`)['consumer="dns"'],
        ]),
      )
    }
    expect(await told()).toEqual({ queue_depth: 1, queue_oldest_age_seconds: 60, dead_letters: 0 })
    expect(samplesOf(await scrape(), 'hyperfleet_api_events_unrelayed')).toEqual({ '': 1 })
    const { items } = (await api.call('POST', '/events/consumers/dns/claims', { max: 1 })).body
    await api.call('PATCH', `/events/consumers/dns/claims/${items[0].receipt}`, { visibility: '0s' })
    await api.call('POST', '/events/consumers/dns/claims', { max: 1 })
    expect(await told()).toEqual({ queue_depth: 0, queue_oldest_age_seconds: 0, dead_letters: 1 })
  })

  test('reconciliations are counted when they begin: made, changed, no longer available, deleted', async () => {
    const { api, scrape, make } = await begin()
    const started = async () => samplesOf(await scrape(), 'hyperfleet_api_reconciliation_started_total')
    const one = `/clusters/${await make('/clusters', 'one')}`
    expect(await started()).toEqual({ 'resource_type="Cluster",is_delete="false"': 1 })
    await api.report(one, { adapter: 'dns' })
    await api.report(one, { adapter: 'dns', available: 'False' })
    await api.report(one, { adapter: 'dns' })
    await api.call('PATCH', one, { spec: { a: 1 } })
    await api.call('PATCH', one, { spec: { a: 2 } })
    await api.call('DELETE', one)
    await api.call('DELETE', one)
    expect(await started()).toEqual({
      'resource_type="Cluster",is_delete="false"': 3,
      'resource_type="Cluster",is_delete="true"': 1,
    })
  })

  test('statements are timed by what they do and to which table', async () => {
    const { scrape, make } = await begin()
    await make('/clusters', 'one')
    const counts = samplesOf(await scrape(), 'hyperfleet_db_query_duration_seconds_count')
    expect(counts['operation="insert",table="resources"']).toBe(1)
  })

  test('docs/reference/metrics.md has every metric as it is served, and no other', async () => {
    const { scrape } = await begin()
    const text = await scrape()
    const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]))
    const served = [...text.matchAll(/^# HELP ((?:hyperfleet|process_unhandled)_\S+) (.*)$/gm)].map(
      ([, name, help]) => `${name} | ${types.get(name)} | ${help}`,
    )
    const page = await readFile(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8')
    const documented = [...page.matchAll(/^\| `(\w+)` \| (\w+) \|[^|]*\| (.*) \|$/gm)].map((row) =>
      row.slice(1).join(' | '),
    )
    expect(documented.toSorted()).toEqual(served.toSorted())
  })

  test('a scrape reads no whole table, with 20,000 resources of which one in a hundred waits', async () => {
    const database = await openDatabase({ ...(await fresh()), onError: () => {} })
    onTestFinished(() => database.close())
    await fill(database)
    const moment = '2026-01-01T00:00:00.000000Z'
    const plans = await Promise.all(
      [deletingQuery, stuckDeletionsQuery, notReadyQuery].map((query) =>
        planOf(database, query(database.kysely, moment)),
      ),
    )
    const whole = plans
      .flat()
      .filter((line) => line.includes('Seq Scan') || (line.startsWith('SCAN') && !line.includes('INDEX')))
    expect(whole).toEqual([])
  })
})

const ROWS = 20_000

const fill = async ({ kysely, dialect }: Database): Promise<void> => {
  const numbers =
    dialect === 'postgres'
      ? sql`select n from generate_series(1, ${sql.lit(ROWS)}) as t(n)`
      : sql`with recursive t(n) as (select 1 union all select n + 1 from t where n < ${sql.lit(ROWS)}) select n from t`
  const time = sql`'2026-01-01T00:00:00.000000Z'`
  // About as long as a real one, or reading the whole table would be cheap.
  const document = sql.lit(JSON.stringify({ spec: { text: '0123456789'.repeat(130) } }))
  const from = sql`from (${numbers}) as numbers`
  await sql`insert into resources
    (id, kind, name, href, generation, created_time, updated_time, created_by, updated_by, tenancy, document, deleted_time, awaited)
    select 'id-' || n, 'Cluster', 'name-' || n, '', 1, ${time}, ${time}, 'a', 'a', '{}', ${document},
      case when n % 100 = 0 then ${time} end, case when n % 100 = 0 then '["dns"]' end ${from}`.execute(kysely)
  await sql`insert into resource_conditions
    (resource_id, kind, type, status, observed_generation, last_updated_time, last_transition_time)
    select 'id-' || n, 'Cluster', 'Ready', case when n % 50 = 0 then 'False' else 'True' end, 1, ${time}, ${time} ${from}`.execute(
    kysely,
  )
  // What autovacuum does in the background.
  await (dialect === 'postgres' ? sql`vacuum analyze` : sql`analyze`).execute(kysely)
}

const planOf = async (
  { kysely, dialect }: Database,
  query: ReturnType<typeof deletingQuery | typeof notReadyQuery | typeof stuckDeletionsQuery>,
): Promise<string[]> => {
  const compiled = query.compile()
  const explain = dialect === 'postgres' ? 'explain' : 'explain query plan'
  const { rows } = await kysely.executeQuery<Record<string, string>>({ ...compiled, sql: `${explain} ${compiled.sql}` })
  return rows.map((row) => (dialect === 'postgres' ? row['QUERY PLAN'] : row.detail) ?? '')
}
