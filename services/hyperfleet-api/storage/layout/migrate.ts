import { type Kysely, sql } from 'kysely'
import { errorOf } from '#lib/errors/error-of.ts'
import { API_ERRORS } from '../../errors.ts'
import type { DialectName } from '../dialect.ts'
import { refuseForeignLayout } from './foreign-layout.ts'
import { migrations } from './migrations.ts'

/** Any fixed number: the lock that keeps two starting processes from migrating at once. */
const MIGRATION_LOCK = 7_233_001

/** A database that a newer program has laid out; the message says what to do. */
export class LayoutError extends errorOf(API_ERRORS, 'LayoutError') {
  constructor(unknown: readonly string[]) {
    super(
      `its layout is newer than this program knows (${unknown.join(', ')}): run the version that made it, or a newer one`,
    )
  }
}

/** Brings the layout up to date. Safe when several processes start at once. @throws LayoutError */
export const migrate = async (kysely: Kysely<unknown>, dialect: DialectName): Promise<void> => {
  await kysely.transaction().execute(async (transaction) => {
    if (dialect === 'postgres') {
      // Waiting for another process, and an index on a table that has grown, take as long as they take.
      await sql`set local statement_timeout = 0`.execute(transaction)
      // A process that is killed meanwhile leaves no statement at work behind, with its locks. PostgreSQL 14 and later have it.
      await sql`select set_config(name, '5s', true) from pg_settings where name = 'client_connection_check_interval'`.execute(
        transaction,
      )
      await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction)
    }
    if (dialect === 'postgres') await refuseForeignLayout(transaction)
    await sql`create table if not exists migrations (name text primary key)`.execute(transaction)
    const done = await sql<{ name: string }>`select name from migrations order by name`.execute(transaction)
    const names = new Set(done.rows.map(({ name }) => name))
    const unknown = names.difference(new Set(migrations.map(({ name }) => name)))
    if (unknown.size > 0) throw new LayoutError([...unknown])
    for (const migration of migrations.filter(({ name }) => !names.has(name))) {
      for (const statement of migration.statements(dialect)) await statement.execute(transaction)
      await sql`insert into migrations (name) values (${migration.name})`.execute(transaction)
    }
  })
}
