/** Totals are known until something changes (API-103), in whatever replica and order it is committed. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import type { Resource } from '#services/hyperfleet-api/model/resource.ts'
import { parseSearch } from '#services/hyperfleet-api/search/parse-search.ts'
import { openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { createKnownTotals, type KnownTotal } from '#services/hyperfleet-api/storage/known-totals.ts'
import { readPageText } from '#services/hyperfleet-api/storage/page-text.ts'
import { writeResource } from '#services/hyperfleet-api/storage/write-resource.ts'
import { countRowsRead, FILLING_MS, fill } from './explained.ts'
import { freshPostgres, onBothDatabases, serve, type TestApi } from './support.ts'

const IN_EU = '/clusters?size=1&labels=region%3Deu'

/** By two looks: their total is left out of the statement. */
const BY_TWO_LOOKS = '/clusters?size=1&labels=region%3Deu,region'

/** Asked several times, for the first may have to count. */
const totalOf = async (api: TestApi, path = IN_EU): Promise<number> => {
  const totals = new Set<number>()
  for (let n = 0; n < 3; n += 1) totals.add((await api.call('GET', path)).body.total)
  expect(totals.size).toBe(1)
  return [...totals][0] ?? -1
}

onBothDatabases((fresh) => {
  test('API-103: a total tells of every change at once', async () => {
    const api = await serve(await fresh())
    expect(await totalOf(api)).toBe(0)
    const { id } = await api.cluster('one', { region: 'eu' })
    expect(await totalOf(api)).toBe(1)
    await api.cluster('two', { region: 'us' })
    expect(await totalOf(api)).toBe(1)
    await api.call('PATCH', `/clusters/${id}`, { labels: { region: 'us' } })
    expect(await totalOf(api)).toBe(0)
    const ready = `/clusters?search=${encodeURIComponent("status.conditions.Ready='True'")}`
    const before = await totalOf(api, ready)
    await api.report(`/clusters/${id}`, { adapter: 'dns', observed_generation: 2 })
    await api.report(`/clusters/${id}`, { adapter: 'validation', observed_generation: 2 })
    expect(await totalOf(api, ready)).toBeGreaterThan(before)
    await api.call('DELETE', `/clusters/${id}`)
    expect(await totalOf(api, `/clusters?search=${encodeURIComponent('deleted_time is not null')}`)).toBe(1)
  })
})

onBothDatabases((fresh) => {
  test('API-103, API-177: what is kept of a question is bounded, whatever a search says; a server without the last changes is another', async () => {
    const database = await openDatabase({ ...(await fresh()), onError: () => {} })
    onTestFinished(() => database.close())
    const known = createKnownTotals()
    const kept: { readonly question: string; readonly total: KnownTotal }[] = []
    const totals = {
      ...known,
      set: (...[question, total]: Parameters<typeof known.set>) => {
        kept.push({ question, total })
        known.set(question, total)
      },
    }
    const read = (search: string) => {
      const filter = { kind: 'Cluster', search: parseSearch(search) }
      const order = [{ column: 'created_time', direction: 'desc' }] as const
      return readPageText(database, { filter, order, size: 10, from: { offset: 0 } }, { totals, head: 0 })
    }
    const values = Array.from({ length: 900 }, () => '1').join(',')
    await read(`spec.${'k'.repeat(2_000)} in (${values})`)
    expect(kept).toEqual([])
    for (const search of ["name = 'one'", "labels.one = 'a' and labels.two = 'b'"]) {
      expect((await read(search))?.total).toBe(0)
      const one = kept.at(-1)
      if (one === undefined) throw new Error('nothing was kept')
      expect(one.question.length).toBeLessThan(4_096)
      known.set(one.question, { ...one.total, total: 7 })
      expect((await read(search))?.total).toBe(7)
      // As a promoted standby notes that has the newest change and lacks one before it.
      await database.kysely
        .insertInto('change_gaps')
        .values({ after: 0, upto: one.total.gap + 5 })
        .execute()
      expect((await read(search))?.total).toBe(0)
    }
  })
})

describe.skipIf(findPostgres() === undefined)('on one PostgreSQL', () => {
  test('API-103, API-177: a total tells of what another replica has done, at once', async () => {
    const choice = await freshPostgres()
    const [one, other] = [await serve(choice), await serve(choice)]
    const totals = async (api: TestApi): Promise<number[]> => [await totalOf(api), await totalOf(api, BY_TWO_LOOKS)]
    expect([await totals(one), await totals(other)]).toEqual([
      [0, 0],
      [0, 0],
    ])
    await one.cluster('one', { region: 'eu' })
    expect(await totals(other)).toEqual([1, 1])
    await other.cluster('two', { region: 'eu' })
    expect(await totals(one)).toEqual([2, 2])
  })

  test('API-103: a total tells of a change whose version is older than the newest, when it is committed at last', async () => {
    const choice = await freshPostgres()
    const api = await serve(choice)
    await api.cluster('one', { region: 'eu' })
    const template = (await api.call('GET', '/clusters')).body.items[0] as Resource
    const late = { ...template, id: 'late', name: 'late' }
    const database = await openDatabase({ ...choice, onError: () => {} })
    onTestFinished(() => database.close())
    const [written, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const writing = database.transaction(async (writer) => {
      await writeResource(writer, 'postgres', { type: 'added', resource: late }, late.created_time)
      written.resolve()
      await mayCommit.promise
    })
    await written.promise
    await api.cluster('two', { region: 'eu' })
    expect(await totalOf(api)).toBe(2)
    mayCommit.resolve()
    await writing
    expect(await totalOf(api)).toBe(3)
  })

  test('API-103, API-177: what is known is not counted again', { timeout: FILLING_MS }, async () => {
    const database = await openDatabase({ ...(await freshPostgres()), onError: () => {} })
    onTestFinished(() => database.close())
    await fill(database)
    const before = { totals: createKnownTotals(), head: 0 }
    const filter = { kind: 'Cluster', labels: parseSelector('region=region-7') }
    const order = [{ column: 'created_time', direction: 'desc' }] as const
    const looks: number[] = []
    for (let n = 0; n < 2; n += 1) {
      const from = await countRowsRead(database)
      const page = await readPageText(database, { filter, order, size: 10, from: { offset: 0 } }, before)
      expect([page?.documents.count, page?.total]).toEqual([10, 1_000])
      looks.push((await countRowsRead(database)) - from)
    }
    expect(looks[0]).toBeGreaterThan(1_000)
    expect(looks[1]).toBeLessThan(100)
  })
})
