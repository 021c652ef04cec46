import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely'
import type pg from 'pg'
import { beginRunOfServer } from '../feed/history.ts'
import { RUN } from '../feed/origin.ts'
import { isReadOnly } from './database.ts'
import type { Tables } from './schema.ts'

/**
 * A new connection is how this process comes to another server, or to the same one after a start. What it has may be from
 * before what was told: before the connection is used a new history begins, so that no write is given a version that was told
 * (API-98).
 */
export const beginOnConnection = async (client: pg.ClientBase): Promise<void> => {
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: poolOfOne(client) }) })
  const { rows } = await sql<{
    isLaidOut: boolean
  }>`select num_nulls(to_regclass('changes'), to_regclass('change_floor'),
    to_regclass('change_gaps'), to_regclass('change_history')) = 0 as "isLaidOut"`.execute(kysely)
  // A layout that is new, or being restored: what is there now is looked at when changes are read.
  if (rows[0]?.isLaidOut !== true) return
  const noted = await sql<{ isAnother: boolean }>`select run <> ${RUN} as "isAnother" from change_history`.execute(
    kysely,
  )
  if (!noted.rows.some(({ isAnother }) => isAnother)) return
  try {
    await beginRunOfServer(kysely)
  } catch (error) {
    // It is read from (API-70), and has no writes to give versions to.
    if (!isReadOnly(error)) throw error
  }
}

/** Kysely's way to this one connection, which is the real pool's. */
const poolOfOne = (client: pg.ClientBase): PostgresPool =>
  ({
    connect: async () => ({
      query: (text: string, values: readonly unknown[]) => client.query(text, [...values]),
      release: () => {},
    }),
    end: async () => {},
    options: {},
  }) as unknown as PostgresPool
