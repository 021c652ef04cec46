import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type MigrateHyperfleetOptions, migrateHyperfleet } from '#cmd/migrate/hyperfleet.ts'
import { findPostgres } from '#hack/postgres/find.ts'
import { lightFuse } from '#test/harness/crash/fuse.ts'
import { postgresProxy } from '#test/harness/crash/postgres-proxy.ts'
import { isDeep, repetitions } from '#test/harness/deep.ts'
import { postgresMissing, startMuster } from '#test/harness/index.ts'
import {
  BASE,
  CREATED,
  type GoRecord,
  type GoReport,
  hrefOfGo,
  insertGo,
  type LAYOUTS,
  layOut,
} from '#test/worlds/hyperfleet-api/go-database.ts'
import { freshPostgres, type Json, serve, temporaryData } from './support.ts'

const REPORTED = '2026-08-01T11:00:00.000001Z'
const id = (number: number) => `019c1398-6a00-7000-8d4e-${String(number).padStart(12, '0')}`

const report = (adapter: string, available: 'True' | 'False' | 'Unknown', generation = 1): GoReport => ({
  adapter,
  observed_generation: generation,
  created_time: CREATED,
  last_report_time: REPORTED,
  conditions: [
    { type: 'Available', status: available, reason: 'Told', message: 'by a test', last_transition_time: REPORTED },
    ...['Applied', 'Health'].map((type) => ({
      type,
      status: 'True',
      last_transition_time: `${REPORTED.slice(0, -1)}789Z`,
    })),
  ],
  data: { url: 'https://example.com', count: 3 },
  metadata: { job_name: 'job', attempt: 2 },
})

const BOSTON: GoRecord = {
  id: id(1),
  name: 'boston',
  labels: { region: 'us-east' },
  spec: { version: '4.19', nodes: [1, 2.5, null], deep: { z: true, a: 'ä' } },
  generation: 3,
  updated_time: '2026-08-01T10:30:00Z',
  conditions: [
    {
      type: 'LastKnownReconciled',
      status: 'True',
      reason: 'AllAdaptersReconciled',
      observed_generation: 2,
      created_time: CREATED,
      last_updated_time: REPORTED,
      last_transition_time: '2026-08-01T10:15:00Z',
    },
  ],
  reports: [report('dns', 'True', 3), report('validation', 'True', 2)],
}
const POOL: GoRecord = {
  id: id(2),
  name: 'workers',
  owner: { id: id(1), kind: 'Cluster' },
  reports: [report('dns', 'False')],
}

/** A Go service's database with these records. */
const source = async (records: readonly GoRecord[], layout?: keyof typeof LAYOUTS) => {
  const { databaseUrl: url } = await freshPostgres()
  const client = await layOut(url, layout)
  onTestFinished(() => client.end())
  await insertGo(client, records, layout)
  return { url, client }
}

/** What `muster migrate hyperfleet` prints, and whether it says that all is there. */
const migrate = async (
  from: string,
  to: MigrateHyperfleetOptions['to'],
  options: Partial<MigrateHyperfleetOptions> = {},
) => {
  let text = ''
  const isWhole = await migrateHyperfleet(
    { from, to, config: undefined, fromInUse: false, dryRun: false, ...options },
    (part) => {
      text += part
    },
  )
  return { text, isWhole }
}

/** Reads with a connection that is closed again. */
const query = async (url: string, sql: string): Promise<readonly Json[]> => {
  const client = new pg.Client({ connectionString: url, application_name: 'muster-migrate' })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const documents = (url: string) => query(url, 'select id, document, tenancy from resources order by id')

const missing = findPostgres() === undefined
// Journey 7
describe.skipIf(missing)(`a Go service's database${missing ? ` (skipped: ${postgresMissing()})` : ''}`, () => {
  // API-130
  test.each(['resources', 'clusters'] as const)('with the table %s is served as it was', async (layout) => {
    const { url } = await source([BOSTON, POOL], layout)
    const target = await freshPostgres()
    expect(await migrate(url, target)).toEqual({
      isWhole: true,
      text: 'Cluster: 1 in the source: 1 copied\nNodePool: 1 in the source: 1 copied\nadapter reports: 3 copied\n',
    })
    const api = await serve(target)
    const { body: cluster } = await api.call('GET', `/clusters/${id(1)}`)
    const { status, ...rest } = cluster
    expect(rest).toEqual({
      id: id(1),
      kind: 'Cluster',
      name: 'boston',
      href: `${BASE}/clusters/${id(1)}`,
      labels: { region: 'us-east' },
      spec: BOSTON.spec,
      generation: 3,
      created_time: CREATED,
      updated_time: '2026-08-01T10:30:00.000000Z',
      created_by: 'alice@example.com',
      updated_by: 'bob@example.com',
      tenancy: {},
    })
    const conditions = Object.fromEntries(status.conditions.map((each: { type: string }) => [each.type, each]))
    // One adapter is behind: not reconciled, and what ran last goes on to be known, since then.
    expect(conditions.Reconciled).toMatchObject({ status: 'False', observed_generation: 3 })
    expect(conditions.Available).toMatchObject({
      status: 'True',
      observed_generation: 2,
      last_transition_time: '2026-08-01T10:15:00.000000Z',
    })
    expect((await api.call('GET', `/clusters/${id(1)}/statuses`)).body.items[0]).toEqual({
      ...report('dns', 'True', 3),
      conditions: [
        { type: 'Available', status: 'True', reason: 'Told', message: 'by a test', last_transition_time: REPORTED },
        { type: 'Applied', status: 'True', last_transition_time: REPORTED },
        { type: 'Health', status: 'True', last_transition_time: REPORTED },
      ],
    })
    const { body: found } = await api.call('GET', `/nodepools?search=${encodeURIComponent("name='workers'")}`)
    expect(found.items[0]).toMatchObject({ href: hrefOfGo(POOL), owner_references: { id: id(1), kind: 'Cluster' } })
    // It is alive: a report about the present generation makes it Ready.
    await api.report(`/clusters/${id(1)}`, { adapter: 'validation', observed_generation: 3 })
    expect((await api.call('GET', `/clusters/${id(1)}`)).body.status.phase).toBe('Ready')
  })

  // API-130, API-133
  test('of random records is served as it was, on PostgreSQL and embedded, and a repeat changes nothing', {
    timeout: 300_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(randomRecords, fc.boolean(), async (records, isEmbedded) => {
        const { url } = await source(records)
        const target = isEmbedded ? await temporaryData() : await freshPostgres()
        const first = await migrate(url, target)
        expect(first).toMatchObject({ isWhole: true, text: expect.not.stringContaining('not copied') })
        const again = await migrate(url, target)
        expect(again.isWhole).toBe(true)
        expect(again.text).toContain('adapter reports: 0 copied')
        expect(again.text).not.toMatch(/since/)
        const api = await serve(target)
        for (const record of records) await expectServed(api, record)
        await api.stop()
      }),
      { numRuns: repetitions({ deep: 100, slice: 6 }) },
    )
  })

  // API-131
  test('overwrites nothing, and goes on beside what it can not copy', async () => {
    const taken = { id: id(10), name: 'taken' }
    const child = { id: id(11), name: 'of-taken', owner: { id: id(10), kind: 'Cluster' } }
    const { url } = await source([taken, child, BOSTON, POOL])
    const target = await freshPostgres()
    const api = await serve(target)
    const { id: holder } = await api.cluster('taken')
    await api.stop()
    const { text, isWhole } = await migrate(url, target)
    expect(isWhole).toBe(false)
    expect(text.split('\n')).toEqual([
      `not copied: Cluster taken (${id(10)}): its name is taken in the target by ${holder}`,
      `not copied: NodePool of-taken (${id(11)}): its owner ${id(10)} is not in the target`,
      'Cluster: 2 in the source: 1 copied, 1 not copied',
      'NodePool: 2 in the source: 1 copied, 1 not copied',
      'adapter reports: 3 copied',
      '',
    ])
    expect(new Set((await documents(target.databaseUrl)).map((row) => row.id))).toEqual(new Set([holder, id(1), id(2)]))
  })

  // API-131
  test('brings nothing back that was deleted since, not even when the archive is purged, and leaves what was changed', async () => {
    const { url, client } = await source([BOSTON, POOL, { id: id(3), name: 'chicago' }, { id: id(4), name: 'denver' }])
    const target = await freshPostgres()
    await migrate(url, target)
    const api = await serve(target)
    await api.call('DELETE', `/clusters/${id(3)}`)
    await api.call('PATCH', `/clusters/${id(1)}`, { spec: { version: '5' } })
    await api.stop()
    await query(target.databaseUrl, 'delete from archive')
    await client.query(`update resources set generation = 9 where id = $1`, [id(4)])
    const before = await documents(target.databaseUrl)
    const { text, isWhole } = await migrate(url, target)
    expect(text).toContain(`deleted in the target since it was copied: Cluster chicago (${id(3)})`)
    expect(text).toContain(`changed in the target since it was copied: Cluster boston (${id(1)}): resources`)
    expect(text).toContain(`not copied: Cluster denver (${id(4)}): it has changed in the source since it was copied`)
    expect(isWhole).toBe(false)
    expect(await documents(target.databaseUrl)).toEqual(before)
  })

  // API-132
  test('says of each record that it can not copy why', async () => {
    const strange: GoRecord[] = [
      { id: id(20), name: 'ship', kind: 'Ship', href: `${BASE}/ships/${id(20)}` },
      { id: id(21), name: 'moved', href: `${BASE}/somewhere/${id(21)}` },
      { id: id(22), name: 'endless', created_time: 'infinity' },
      { id: id(23), name: 'bad-report', reports: [{ ...report('dns', 'True'), conditions: [{ type: 'Available' }] }] },
    ]
    const { url, client } = await source([...strange, BOSTON])
    await client.query(`update adapter_statuses set resource_id = 'gone' where adapter = 'validation'`)
    const { text, isWhole } = await migrate(url, await freshPostgres())
    expect(isWhole).toBe(false)
    expect(text.split('\n').toSorted()).toMatchInlineSnapshot(`
      [
        "",
        "Cluster: 4 in the source: 1 copied, 3 not copied",
        "Ship: 1 in the source: 1 not copied",
        "adapter reports: 1 copied",
        "left in the source: 1 adapter reports about records that it does not have",
        "not copied: Cluster bad-report (019c1398-6a00-7000-8d4e-000000000023): the conditions of the report of dns can't be read",
        "not copied: Cluster endless (019c1398-6a00-7000-8d4e-000000000022): created_time is no time of the calendar: "infinity"",
        "not copied: Cluster moved (019c1398-6a00-7000-8d4e-000000000021): its path is /api/hyperfleet/v1/somewhere/019c1398-6a00-7000-8d4e-000000000021 and would be /api/hyperfleet/v1/clusters/019c1398-6a00-7000-8d4e-000000000021: give its kind the plural that it had",
        "not copied: Ship ship (019c1398-6a00-7000-8d4e-000000000020): its kind Ship is not configured: name it in --config",
      ]
    `)
  })

  // API-131
  test('with records that reference each other copies them in order, and names those in a circle', async () => {
    const wif = (number: number, to?: number): GoRecord => ({
      id: id(number),
      name: `wif-${number}`,
      kind: 'WifConfig',
      href: `${BASE}/wifconfigs/${id(number)}`,
      ...(to !== undefined && { references: [{ type: 'next', id: id(to), kind: 'WifConfig' }] }),
    })
    const { url, client } = await source([wif(33), wif(32, 33), wif(31, 32), wif(34)])
    await client.query(`insert into resource_references values ($1, 'next', $1, 'WifConfig')`, [id(34)])
    const config = join((await temporaryData()).dataDir, 'config.json')
    const kinds = [
      { kind: 'WifConfig', plural: 'wifconfigs', references: [{ ref_type: 'next', target_kind: 'WifConfig' }] },
    ]
    await writeFile(config, JSON.stringify({ entities: kinds }))
    const target = await freshPostgres()
    const { text } = await migrate(url, target, { config })
    expect(text).toContain(`not copied: WifConfig wif-34 (${id(34)}): it is in a circle`)
    expect(text).toContain('WifConfig: 4 in the source: 3 copied, 1 not copied')
    const api = await serve({ ...target, entities: kinds })
    expect((await api.call('GET', `/wifconfigs/${id(31)}`)).body.references).toEqual({
      next: [{ id: id(32), kind: 'WifConfig', href: `${BASE}/wifconfigs/${id(32)}` }],
    })
    expect((await api.call('DELETE', `/wifconfigs/${id(33)}`)).status).toBe(409)
  })

  // API-134
  test('is not read while its service, or another program, is connected, nor written while an API runs', async () => {
    const { url } = await source([BOSTON])
    const service = new pg.Client({ connectionString: url, application_name: 'hyperfleet-api' })
    await service.connect()
    const target = await freshPostgres()
    await expect(migrate(url, target)).rejects.toThrow(
      /--from: other programs are connected to it \(hyperfleet-api as /,
    )
    expect((await migrate(url, target, { fromInUse: true })).isWhole).toBe(true)
    await service.end()
    const api = await serve(target)
    await expect(migrate(url, target)).rejects.toThrow(/--to: .* it is in use \(muster-api as .*stop muster api/)
    await api.stop()
    await expect(migrate(url, { databaseUrl: url })).rejects.toThrow(/--to: it is the database of --from/)
  })

  // API-134
  test('is no place for an API, which says so', async () => {
    const { url } = await source([BOSTON])
    await expect(serve({ databaseUrl: url })).rejects.toThrow(/it is the database of a Go service/)
    const other = await source([BOSTON])
    await expect(migrate(url, { databaseUrl: other.url })).rejects.toThrow(
      /--to: .* it is the database of a Go service/,
    )
    await expect(migrate((await freshPostgres()).databaseUrl, await freshPostgres())).rejects.toThrow(
      /none of the tables/,
    )
  })

  // API-135
  test('is only looked at in a dry run, which says the same and leaves the target as it was', async () => {
    const { url } = await source([BOSTON, POOL])
    const says = 'Cluster: 1 in the source: 1 would be copied\nNodePool: 1 in the source: 1 would be copied\n'
    const empty = await freshPostgres()
    expect((await migrate(url, empty, { dryRun: true })).text).toContain(says)
    expect(await query(empty.databaseUrl, `select 1 from pg_tables where schemaname = 'public'`)).toEqual([])
    const { dataDir } = await temporaryData()
    expect((await migrate(url, { dataDir: join(dataDir, 'new') }, { dryRun: true })).text).toContain(says)
    expect(existsSync(join(dataDir, 'new'))).toBe(false)
    await migrate(url, { dataDir })
    expect((await migrate(url, { dataDir }, { dryRun: true })).text).toContain(
      'Cluster: 1 in the source: 1 copied before',
    )
  })

  // API-134
  test('cut between an owner in deletion and what it owns: no API begins until it has come to its end, by a repeat', {
    timeout: 600_000,
  }, async () => {
    const { url } = await source([
      { id: id(3), name: 'chicago', deleted_time: REPORTED, generation: 2 },
      { ...POOL, owner: { id: id(3), kind: 'Cluster' }, deleted_time: REPORTED },
    ])
    const { url: blank } = await source([])
    for (let after = 1; ; after += 1) {
      const target = await freshPostgres()
      await migrate(blank, target)
      {
        await using proxy = await postgresProxy(target.databaseUrl)
        const muster = await startMuster(['migrate', 'hyperfleet', `--from=${url}`, `--to=${proxy.url}`])
        const fuse = lightFuse({ after, background: /^$/, counted: () => undefined })
        proxy.arm(fuse, () => muster.signal('SIGKILL'))
        await muster.exited
        proxy.disarm()
      }
      const there = await query(target.databaseUrl, 'select id from resources')
      if (there.length === 0) continue
      expect(there).toHaveLength(1)
      await expect(serve(target)).rejects.toThrow(/a takeover began at .* say muster migrate hyperfleet again/)
      expect((await migrate(url, target)).isWhole).toBe(true)
      expect(await query(target.databaseUrl, 'select id from resources')).toHaveLength(2)
      await (await serve(target)).stop()
      return
    }
  })

  // API-131
  test('is whole after a cut at any statement and a repeat', { timeout: 600_000 }, async () => {
    const { url } = await source([BOSTON, POOL, { id: id(3), name: 'chicago', deleted_time: REPORTED, generation: 2 }])
    const uncut = await freshPostgres()
    await migrate(url, uncut)
    const whole = await documents(uncut.databaseUrl)
    const { url: blank } = await source([])
    const cutAfter = async (statements: number) => {
      const { databaseUrl } = await freshPostgres()
      // Lays out the tables, whose own cuts are the business of other tests.
      await migrate(blank, { databaseUrl })
      await using proxy = await postgresProxy(databaseUrl)
      const muster = await startMuster(['migrate', 'hyperfleet', `--from=${url}`, `--to=${proxy.url}`])
      let count = 0
      const fuse = lightFuse({ after: statements, background: /^$/, counted: () => (count += 1) })
      proxy.arm(fuse, () => muster.signal('SIGKILL'))
      const { code } = await muster.exited
      proxy.disarm()
      return { databaseUrl, count, isCut: code !== 0 }
    }
    const { count: total } = await cutAfter(100_000)
    const stride = isDeep ? 1 : Math.ceil(total / 12)
    for (let after = 1; after <= total; after += stride) {
      const { databaseUrl, isCut } = await cutAfter(after)
      expect(isCut).toBe(true)
      // Each record with its reports, or nothing of it.
      const half = `select id from takeovers full join resources using (id) where (digest is null or document is null) and id <> 'under-way'`
      expect(await query(databaseUrl, half)).toEqual([])
      const { isWhole } = await migrate(url, { databaseUrl })
      expect(isWhole).toBe(true)
      expect(await query(databaseUrl, `select id from takeovers where id = 'under-way'`)).toEqual([])
      expect(await documents(databaseUrl)).toEqual(whole)
      expect(await query(databaseUrl, 'select resource_id, document from adapter_statuses order by 1, 2')).toEqual(
        await query(uncut.databaseUrl, 'select resource_id, document from adapter_statuses order by 1, 2'),
      )
    }
  })
})

const time = fc
  .tuple(fc.integer({ min: 0, max: 86_399 }), fc.integer({ min: 0, max: 999_999 }))
  .map(
    ([second, micros]) =>
      `${new Date(Date.UTC(2026, 7, 1) + second * 1000).toISOString().slice(0, 19)}.${String(micros).padStart(6, '0')}Z`,
  )

const object = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 8 }).filter((key) => key !== '__proto__' && !key.includes('\0')),
  fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).match(/\\u0000|__proto__|\\ud[89a-f]/i)),
  { maxKeys: 4 },
)

const reports = fc.uniqueArray(
  fc.record({
    adapter: fc.constantFrom('dns', 'validation', 'pull-secret'),
    observed_generation: fc.integer({ min: 1, max: 4 }),
    available: fc.constantFrom('True', 'False', 'Unknown'),
    created_time: time,
    last_report_time: time,
    data: object,
  }),
  { selector: ({ adapter }) => adapter },
)

const randomRecords: fc.Arbitrary<GoRecord[]> = fc
  .array(
    fc.record({
      owner: fc.option(fc.nat(5)),
      labels: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.stringMatching(/^[a-z0-9]{0,5}$/), { maxKeys: 3 }),
      spec: object,
      tenancy: fc.constantFrom<Readonly<Record<string, string>>[]>({}, { tenant: 'a' }, { tenant: 'b', team: 'c' }),
      generation: fc.integer({ min: 1, max: 4 }),
      times: fc.tuple(time, time),
      deleted: fc.option(time),
      reports,
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((drafts) =>
    drafts.map(({ owner, times, deleted, labels, reports, ...draft }, at): GoRecord => {
      // Without reports nothing would keep it from going when the API starts.
      const isDeleting = deleted !== null && reports.length > 0
      const earlier = owner !== null && owner < at ? drafts[owner] : undefined
      const isKept = isDeleting || earlier?.deleted == null || earlier.reports.length === 0
      // A child of an earlier record that is a root. Of one in deletion all children are.
      const isChild = earlier !== undefined && (earlier.owner === null || owner === 0) && isKept
      const parent = isChild ? earlier : undefined
      const isRoot = at === 0 || !isChild
      return {
        ...draft,
        id: id(100 + at),
        name: `record-${at}`,
        ...(!isRoot && parent !== undefined && { owner: { id: id(100 + (owner ?? 0)), kind: 'Cluster' } }),
        tenancy: (parent ?? draft).tenancy,
        ...(Object.keys(labels).length > 0 && { labels }),
        created_time: times[0],
        updated_time: times[1],
        ...(isDeleting && { deleted_time: deleted }),
        reports: reports.map(({ available, ...each }) => ({
          ...each,
          conditions: ['Available', 'Applied', 'Health'].map((type) => ({
            type,
            status: type === 'Available' ? available : 'True',
            last_transition_time: each.last_report_time,
          })),
        })),
      }
    }),
  )

/** What the Go service answers, but for what this API adds: told from the input alone. */
const expectServed = async (api: Awaited<ReturnType<typeof serve>>, record: GoRecord): Promise<void> => {
  const { id, name, owner, spec, labels, generation, tenancy, created_time, updated_time, deleted_time } = record
  const path = `/${owner === undefined ? 'clusters' : 'nodepools'}/${id}`
  const { status, ...rest } = (await api.call('GET', path)).body
  expect(rest).toEqual({
    id,
    name,
    kind: owner === undefined ? 'Cluster' : 'NodePool',
    href: hrefOfGo(record),
    ...(labels && { labels }),
    spec: JSON.parse(JSON.stringify(spec)),
    ...(owner && { owner_references: { ...owner, href: `${BASE}/clusters/${owner.id}` } }),
    generation,
    created_time,
    updated_time,
    ...(deleted_time && { deleted_time, deleted_at: deleted_time, deleted_by: 'carol@example.com' }),
    created_by: 'alice@example.com',
    updated_by: 'bob@example.com',
    tenancy,
  })
  const said = (record.reports ?? []).map((report) => ({ ...report, available: (report.conditions[0] as Json).status }))
  const counted = said.filter(
    ({ available, observed_generation }) => available !== 'Unknown' && observed_generation <= (generation ?? 1),
  )
  const isReady =
    counted.length > 0 && counted.every((each) => each.available === 'True' && each.observed_generation === generation)
  expect(status.phase).toBe(deleted_time ? 'Deleting' : isReady ? 'Ready' : 'NotReady')
  const { items } = (await api.call('GET', `${path}/statuses?size=100`)).body
  expect(items.toSorted((a: Json, b: Json) => (a.adapter < b.adapter ? -1 : 1))).toEqual(
    JSON.parse(JSON.stringify((record.reports ?? []).toSorted((a, b) => (a.adapter < b.adapter ? -1 : 1)))),
  )
}
