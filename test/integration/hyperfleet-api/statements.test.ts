import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { systemClock } from '#operator/model/clock.ts'
import { databaseQueue } from '#services/hyperfleet-api/events/database-queue.ts'
import { parseReceipt } from '#services/hyperfleet-api/events/deliveries.ts'
import { publishEvent } from '#services/hyperfleet-api/events/publish.ts'
import { readNextChanges, readNextVersions } from '#services/hyperfleet-api/feed/changes.ts'
import { timestampOf } from '#services/hyperfleet-api/model/timestamp.ts'
import { deleteResource } from '#services/hyperfleet-api/mutations/delete.ts'
import { recheckDeletions } from '#services/hyperfleet-api/mutations/recheck-deletions.ts'
import { postgresMissing } from '#test/harness/index.ts'
import { countRowsRead, FILLING_MS, fill, ROWS } from './explained.ts'
import { begin } from './heard-statements.ts'

/**
 * What an operation costs PostgreSQL, in statements, BEGIN and COMMIT included: each is a round trip, and under load
 * that is what throughput hangs on. The Go peer needs 16 for a report, 11 for a patch, 8 to create and 4 to read.
 */

describe.skipIf(findPostgres() === undefined)(
  `statements on PostgreSQL${findPostgres() ? '' : ` (skipped: ${postgresMissing()})`}`,
  () => {
    test('a report that makes a cluster ready, and every one after it, takes 2', async () => {
      const { costOf, report } = await begin()
      expect(await costOf(() => report('dns'))).toBe(2)
      expect(await costOf(() => report('validation'))).toBe(2)
      expect(await costOf(() => report('dns'))).toBe(2)
      expect(await costOf(() => report('dns', 'False'))).toBe(2)
      expect(await costOf(() => report('extra'))).toBe(2)
    })

    test('a report that is dropped takes 1, and 4 when it is kept beside the row and goes to the log', async () => {
      const { costOf, report } = await begin()
      await report('dns')
      expect(await costOf(() => report('dns', 'True', { observed_generation: 2 }))).toBe(1)
      expect(await costOf(() => report('dns', 'True', { observed_time: '2025-12-31T23:59:00.000000Z' }))).toBe(1)
      expect(await costOf(() => report('dns', 'Unknown'))).toBe(4)
    })

    test('reading a cluster takes 1, making one 1, changing its spec 5', async () => {
      const { costOf, create, read, patch, report } = await begin()
      await report('dns')
      expect(await costOf(read)).toBe(1)
      expect(await costOf(() => create('two'))).toBe(1)
      expect(await costOf(() => patch({ a: 1 }))).toBe(5)
      expect(await costOf(() => patch({ a: 1 }))).toBe(3)
    })

    // API-102
    test('a report, a read, a new cluster and a changed one look at few rows, with 20,000 others', {
      timeout: FILLING_MS,
    }, async () => {
      const { database, report, create, patch, read } = await begin()
      await fill(database)
      const looksOf = async (work: () => Promise<unknown>): Promise<number> => {
        const before = await countRowsRead(database)
        await work()
        return (await countRowsRead(database)) - before
      }
      // Counting counts nothing itself, and sees what was read.
      expect(await looksOf(async () => {})).toBe(0)
      expect(await looksOf(() => sql`select count(document) from resources`.execute(database.kysely))).toBeGreaterThan(
        ROWS,
      )
      const works = {
        'a report': () => report('dns'),
        'a report again': () => report('dns'),
        'a new cluster': () => create('two'),
        'a changed cluster': () => patch({ a: 1 }),
        'a cluster': () => read(),
        'what is new': () => readNextChanges(database, systemClock, { after: 1 }),
        'that something is new': () => readNextVersions(database, systemClock, { after: 1 }),
      }
      const looks: Record<string, number> = {}
      for (const [what, work] of Object.entries(works)) looks[what] = await looksOf(work)
      expect(Object.entries(looks).filter(([, count]) => count > 100)).toEqual([])
      expect(looks['a report']).toBeGreaterThan(0)
    })

    // API-94
    test.each([
      ['what', readNextChanges],
      ['that something', readNextVersions],
    ])('reading %s is new is planned some times, however often it is read', async (_what, readNext) => {
      const { database } = await begin()
      const { kysely } = database
      const read = (after: number) => readNext(database, systemClock, { after })
      await read(0)
      const document = sql`repeat('{"spec":{}}', 300)`
      await sql`insert into changes (type, resource_id, kind, labels_before, labels, document, time)
        select 'modified', 'a', 'Cluster', '{}', '{}', ${document}, '' from generate_series(1, 20000)`.execute(kysely)
      await sql`vacuum analyze changes`.execute(kysely)
      const { rows } = await sql<{ newest: number }>`select max(version) as newest from changes`.execute(kysely)
      for (let n = 0; n < 20; n += 1) expect((await read((rows[0]?.newest ?? 0) - 1)).changes).toHaveLength(1)
      const plans = await sql<{ custom_plans: number; generic_plans: number }>`select custom_plans, generic_plans
        from pg_prepared_statements where statement like '%from change_floor) as history%'`.execute(kysely)
      expect(plans.rows).toEqual([{ custom_plans: 5, generic_plans: expect.any(Number) }])
      expect(plans.rows[0]?.generic_plans).toBeGreaterThan(5)
    })

    // API-52
    test('an acknowledgement looks at the deletion that waited for it, however many others wait', async () => {
      const costWith = async (count: number) => {
        const { database, mutations, address, create, costOf, statements } = await begin()
        const queue = databaseQueue({
          database,
          wakeup: { wake: () => {}, onWake: () => () => {}, close: async () => {} },
          clock: systemClock,
          newId: randomUUID,
        })
        const { entity } = address
        const time = timestampOf(new Date())
        await queue.putConsumer({ name: 'dns', kind: 'Cluster', selector: '', maxDeliveries: 5 }, time)
        const ids: string[] = []
        for (let n = 0; n < count; n += 1) ids.push((await create(`waits-${n}`)).id)
        for (const id of ids)
          await publishEvent({ ...mutations, queue }, { entity, id }, { reason: 'New', source: 'me', time })
        const request = { consumer: 'dns', max: 100, wait: 0, visibility: 600_000 }
        const [claimed] = await queue.receive(request, new AbortController().signal)
        for (const id of ids) await deleteResource(mutations, { entity, id }, { identity: 'me', time })
        const { receipt = '' } = claimed ?? {}
        const cost = await costOf(async () => {
          await queue.acknowledge('dns', receipt)
          await recheckDeletions(mutations, { event: parseReceipt(receipt).sequence })
        })
        return { cost, statements: statements.map(({ text }) => text) }
      }
      const [one, many] = [await costWith(1), await costWith(20)]
      expect(many.statements).toEqual(one.statements)
      expect(one.cost).toBeLessThan(20)
    })
  },
)
