/** A PostgreSQL that goes on at versions which were told (API-98). */
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { startPostgres } from '#hack/postgres/postgres.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { databaseSource } from '#services/hyperfleet-api/feed/change-source.ts'
import { createFeed } from '#services/hyperfleet-api/feed/feed.ts'
import { type Database, openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { repetitions } from '#test/harness/deep.ts'
import { postgresMissing } from '#test/harness/index.ts'
import { freshPostgres } from './support.ts'

const run = promisify(execFile)

const open = async (databaseUrl: string): Promise<Database> => {
  const database = await openDatabase({ databaseUrl, onError: () => {} })
  onTestFinished(() => database.close())
  return database
}

/** One that writes, and what a watcher is told: one that missed some begins anew with all that is there. */
const follow = async (database: Database) => {
  const written: string[] = []
  let reading = Promise.resolve()
  let told = new Set<string>()
  let losses = 0
  const source = databaseSource(database, systemClock)
  const held: typeof source = { ...source, read: (range) => reading.then(() => source.read(range)) }
  const feed = await createFeed(held, { onWake: () => () => undefined }, silent)
  onTestFinished(() => feed.close())
  feed.subscribe({
    change: ({ document }) => told.add(document),
    changesLost: () => {
      losses += 1
      told = new Set(written)
    },
  })
  return {
    feed,
    told: () => [...told].toSorted(),
    losses: () => losses,
    written,
    write: async ({ kysely }: Database, name: string): Promise<void> => {
      await sql`insert into changes (type, resource_id, kind, labels_before, labels, document, time)
        values ('added', ${name}, 'Cluster', '{}', '{}', ${name}, '2026-01-01T00:00:00.000000Z')`.execute(kysely)
      written.push(name)
    },
    /** Nothing is read until the work is done. */
    unread: async (work: () => Promise<void>): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>()
      reading = promise
      await work().finally(resolve)
    },
  }
}

const numbered = (name: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${name}-${n + 1}`)

const programs = findPostgres()

describe.skipIf(programs === undefined)(`versions that were told ${programs ? '' : postgresMissing()}`, () => {
  test('and are lost with the files of the server: what is written there before anything is read gets none of them', async () => {
    const folder = await temporaryFolder('postgres-put-back')
    const [data, copy] = [join(folder, 'data'), join(folder, 'copy')]
    const server = await startPostgres(programs ?? '', folder)
    onTestFinished(() => server.kill())
    const database = await open(server.url)
    const { feed, told, losses, write, written, unread } = await follow(database)
    for (const name of numbered('kept', 5)) await write(database, name)
    await feed.catchUp()
    // After a clean stop the sequence goes on at the next version, and not some versions later.
    await unread(async () => {
      await server.stop()
      await run('cp', ['-a', data, copy])
      await server.restart()
      for (const name of numbered('lost', 5)) await write(database, name)
    })
    await feed.catchUp()
    expect(told()).toEqual([...written].toSorted())
    // The connection had begun the history before it wrote: this restart has lost nothing.
    expect(losses()).toBe(0)
    await unread(async () => {
      await server.stop()
      await rm(data, { recursive: true })
      await run('cp', ['-a', copy, data])
      await server.restart()
      written.splice(0, Infinity, ...numbered('kept', 5))
      const other = await open(server.url)
      for (const name of numbered('new', 6)) await write(other, name)
    })
    await feed.catchUp()
    expect(told()).toEqual([...written].toSorted())
  }, 120_000)

  /** Tables whose rows a dump has; the sequence is put back after them. */
  const TABLES = ['change_floor', 'change_gaps', 'change_history', 'changes'] as const
  const step = fc.oneof(
    fc.record({ type: fc.constant('write' as const) }),
    fc.record({ type: fc.constant('read' as const) }),
    fc.record({
      type: fc.constant('restore' as const),
      order: fc.shuffledSubarray([...TABLES], { minLength: TABLES.length }),
      /** What happens after each part of it: nothing, or a read, or a write. */
      between: fc.array(fc.constantFrom('nothing', 'read', 'write'), { minLength: 5, maxLength: 5 }),
    }),
  )

  test('and come again by a restore without one transaction, whatever is read and written meanwhile: all that is written is told', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
        const database = await open((await freshPostgres()).databaseUrl)
        const { kysely } = database
        const { feed, told, write, written } = await follow(database)
        let count = 0
        const perform = async (what: string): Promise<void> => {
          // While rows are missing either may be refused, which is said and tried again.
          if (what === 'read') await feed.catchUp().catch(() => undefined)
          count += 1
          if (what === 'write') await write(database, String(count)).catch(() => undefined)
        }
        for (const name of numbered('dumped', 3)) await write(database, name)
        const dump = new Map<string, string>()
        for (const table of TABLES) {
          const { rows } = await sql<{ json: string }>`select coalesce(json_agg(t), '[]')::text as json
            from ${sql.table(table)} as t`.execute(kysely)
          dump.set(table, rows[0]?.json ?? '[]')
        }
        const { rows } = await sql<{
          last: number
        }>`select pg_sequence_last_value('changes_version_seq') as last`.execute(kysely)
        for (const next of steps) {
          if (next.type !== 'restore') {
            await perform(next.type)
            continue
          }
          await sql`truncate ${sql.join(TABLES.map((table) => sql.table(table)))}`.execute(kysely)
          for (const [n, table] of next.order.entries()) {
            await perform(next.between[n] ?? '')
            await sql`insert into ${sql.table(table)} select * from json_populate_recordset(
              null::${sql.table(table)}, ${dump.get(table)}::json)`.execute(kysely)
          }
          await perform(next.between.at(-1) ?? '')
          await sql`select setval('changes_version_seq', ${rows[0]?.last}::bigint)`.execute(kysely)
        }
        // A version that a row has is refused, until a read has seen that the sequence is behind.
        await write(database, 'the last').catch(async () => {
          await feed.catchUp()
          await write(database, 'the last')
        })
        await feed.catchUp()
        expect(told()).toEqual([...written].toSorted())
        await feed.close()
        await database.close()
      }),
      { numRuns: repetitions({ deep: 500, slice: 25 }) },
    )
  }, 300_000)
})
