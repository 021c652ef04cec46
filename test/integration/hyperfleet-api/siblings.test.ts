/** Many callers at once on one PostgreSQL: what one of them waits for is not what the others wait for. */
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { type Database, openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { postgresMissing } from '#test/harness/index.ts'
import { freshPostgres, serve } from './support.ts'

describe.skipIf(findPostgres() === undefined)(
  `on PostgreSQL${findPostgres() ? '' : ` (skipped: ${postgresMissing()})`}`,
  () => {
    test('API-93: siblings are created and their parent is reported about while another sibling is on its way, which a deletion waits for', async () => {
      const choice = await freshPostgres()
      const api = await serve(choice)
      const database = await open(choice)
      const { id } = await api.cluster('one')
      const pools = `/clusters/${id}/nodepools`
      const create = (name: string) => api.call('POST', pools, { name, spec: {} })
      const model = (await create('model')).body
      let late: ReturnType<typeof create> | undefined
      let deleted: ReturnType<typeof create> | undefined
      const isUndone = database.kysely.transaction().execute(async (other) => {
        // Of the same name: the next create has the parent, and waits whether this one will be.
        await sql`insert into resources (id, kind, name, href, owner_id, owner_kind, generation, created_time, updated_time,
            created_by, updated_by, tenancy, document)
          select 'other', kind, 'late', href, owner_id, owner_kind, generation, created_time, updated_time,
            created_by, updated_by, tenancy, document from resources where id = ${model.id}`.execute(other)
        late = create('late')
        await untilWaiting(database, 1)
        expect((await Promise.all(['pool-a', 'pool-b', 'pool-c'].map(create))).map(({ status }) => status)).toEqual([
          201, 201, 201,
        ])
        expect((await api.report(`/clusters/${id}`, { adapter: 'dns' })).status).toBe(201)
        deleted = api.call('DELETE', `/clusters/${id}`)
        await untilWaiting(database, 2)
        throw new Error('undone')
      })
      await expect(isUndone).rejects.toThrow('undone')
      expect([(await late)?.status, (await deleted)?.status]).toEqual([201, 202])
      // None is left living below what is being deleted.
      const living = sql`select name from resources where deleted_time is null`
      expect((await living.execute(database.kysely)).rows).toEqual([])
      expect((await create('too-late')).status).toBe(409)
    })

    test('API-94: a connection keeps no plans of statements that lost their names, and answers rightly all the while', async () => {
      const database = await open(await freshPostgres())
      await database.kysely.connection().execute(async (connection) => {
        for (let n = 0; n < 200; n += 1)
          for (let use = 0; use < 4; use += 1) {
            const { rows } = await sql<{ value: number }>`select ${n}::int + ${sql.lit(n)} as value`.execute(connection)
            expect(rows).toEqual([{ value: 2 * n }])
          }
        const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(
          connection,
        )
        expect(rows).toHaveLength(64)
        expect(rows.map(({ statement }) => statement)).toContain('select $1::int + 199 as value')
      })
    })
  },
)

const open = async (choice: { databaseUrl: string }): Promise<Database> => {
  const database = await openDatabase({ ...choice, onError: () => {} })
  onTestFinished(() => database.close())
  return database
}

/** Resolves when so many connections wait for locks of others. */
const untilWaiting = async ({ kysely }: Database, count: number): Promise<void> => {
  const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  while ((await waiting.execute(kysely)).rows.length < count) await delay(10)
}
