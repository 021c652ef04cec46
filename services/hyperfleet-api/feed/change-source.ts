import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Clock } from '#operator/model/clock.ts'
import { Problem } from '../problems/problem.ts'
import type { Database } from '../storage/database.ts'
import { CHANGE_LOCK } from '../storage/resource-write.ts'
import { type ChangeBatch, readNextChanges, readNextVersions, type UnreadChange } from './changes.ts'

/** What the feed reads. */
export interface ChangeSource {
  /** The next changes after a version, in order, up to another one where given: of the history that the database has now. */
  read(range: { readonly after: number; readonly upTo?: number }): Promise<ChangeBatch>
  /** The same without what was changed. */
  readVersions(range: { readonly after: number; readonly upTo?: number }): Promise<ChangeBatch<UnreadChange>>
  /** The newest version such that no version up to it can still appear. Waits for writers, and no writer waits for it. */
  stableVersion(): Promise<number>
}

export const databaseSource = (database: Database, clock: Pick<Clock, 'now'>): ChangeSource => ({
  read: (range) => readNextChanges(database, clock, range),
  readVersions: (range) => readNextVersions(database, clock, range),
  stableVersion: () => newestStableVersion(database),
})

/** Milliseconds that writers are waited for. */
const WRITER_PATIENCE_MS = 1_000
/** Milliseconds between looks at the writers that are left; commits take about as long. */
const WRITER_CHECK_DELAY_MS = 5

/**
 * PostgreSQL hands versions out before commits, so a smaller one may become visible after a larger one. A writer takes
 * CHANGE_LOCK shared before it takes a version, and has it until its commit is visible. So once all that had the lock
 * after a version was seen have given it back, nothing up to that version is still on its way. The lock itself is only
 * looked at: asked for, it would keep all writers waiting behind the slowest (API-72).
 * @throws Problem unavailable when a writer doesn't end
 */
const newestStableVersion = async (database: Database): Promise<number> => {
  const seen = await readProgress(database)
  const deadline = performance.now() + WRITER_PATIENCE_MS
  let writers: ReadonlySet<string> = new Set(seen.writers)
  while (writers.size > 0) {
    if (performance.now() > deadline)
      throw new Problem('unavailable', 'a writer holds its transaction open, and changes are told in order: try again')
    await delay(WRITER_CHECK_DELAY_MS)
    writers = writers.intersection(new Set((await readProgress(database)).writers))
  }
  return Math.max(seen.newest, seen.floor)
}

interface Progress {
  readonly newest: number
  readonly floor: number
  /** The transactions that have CHANGE_LOCK; ids of transactions are not used again while a server runs. */
  readonly writers: readonly string[]
}

/** One statement: it sees the versions that were committed when it began, and looks at the locks after that. */
const readProgress = async ({ kysely, dialect }: Database): Promise<Progress> => {
  const writers =
    dialect === 'postgres'
      ? sql`array(select virtualtransaction from pg_locks
          where locktype = 'advisory' and classid = 0 and objid = ${CHANGE_LOCK}::bigint and objsubid = 1 and granted
            and database = (select oid from pg_database where datname = current_database()))`
      : sql`null`
  const { rows } = await sql<{
    newest: number
    floor: number
    writers: string[] | null
  }>`select coalesce((select max(version) from changes), 0) as newest, version as floor, ${writers} as writers
    from change_floor`.execute(kysely)
  const [row] = rows
  return { newest: row?.newest ?? 0, floor: row?.floor ?? 0, writers: row?.writers ?? [] }
}
