import { type Kysely, sql } from 'kysely'
import { errorOf } from '#lib/errors/error-of.ts'
import { API_ERRORS } from '../../errors.ts'

/** The database is another program's. */
export class ForeignLayoutError extends errorOf(API_ERRORS, 'ForeignLayoutError') {}

/** The Go service has tables of the same names in another layout: nothing of ours may be laid out among them. @throws ForeignLayoutError */
export const refuseForeignLayout = async (kysely: Kysely<unknown>): Promise<void> => {
  const { rows } = await sql<{ isForeign: boolean }>`select exists (
      select from information_schema.columns where table_schema = current_schema() and table_name = 'migrations'
    ) and not exists (
      select from information_schema.columns
      where table_schema = current_schema() and table_name = 'migrations' and column_name = 'name'
    ) as "isForeign"`.execute(kysely)
  if (rows[0]?.isForeign === true)
    throw new ForeignLayoutError(
      'it is the database of a Go service: name a database of its own, and take that one over with "muster migrate hyperfleet"',
    )
}
