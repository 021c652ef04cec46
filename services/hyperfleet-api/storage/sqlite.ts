import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely'
import { limitSearchTime } from './search-time.ts'

const FILE = 'hyperfleet.sqlite'
/** How many prepared statements are kept: the service has a few dozen texts, searches add more. */
const MAX_PREPARED_STATEMENTS = 200

/** A file that is there, to be read only; undefined when it is not there. */
export const readOnlySqlite = (dataDir: string): SqliteDialect | undefined => {
  const file = join(dataDir, FILE)
  if (!existsSync(file)) return undefined
  return new SqliteDialect({ database: async () => adapt(new DatabaseSync(file, { readOnly: true, timeout: 2_000 })) })
}

/** Kysely on node:sqlite. Without a folder the database lives in memory. @throws Error that says what holds the file */
export const sqliteDialect = (dataDir: string | undefined): SqliteDialect =>
  new SqliteDialect({ database: async () => open(dataDir) })

const open = (dataDir: string | undefined): SqliteDatabase => {
  if (dataDir !== undefined) mkdirSync(dataDir, { recursive: true })
  const database = new DatabaseSync(dataDir === undefined ? ':memory:' : join(dataDir, FILE), { timeout: 2_000 })
  try {
    // One process owns the file: a second one would not hear of this one's changes. synchronous=full survives power loss.
    database.exec(`
      pragma locking_mode = exclusive;
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma foreign_keys = on;
      begin immediate; commit;
    `)
  } catch (error) {
    database.close()
    throw new Error(`${dataDir}/${FILE} can't be opened: is another muster api using this data folder?`, {
      cause: error,
    })
  }
  return adapt(database)
}

/** The shape of better-sqlite3, which Kysely expects, over node:sqlite, keeping recently used statements prepared. */
const adapt = (database: DatabaseSync): SqliteDatabase => {
  // A container with a read-only root has no folder for temporary files.
  database.exec('pragma temp_store = memory')
  const beginTime = limitSearchTime(database)
  const prepared = new Map<string, SqliteStatement>()
  return {
    close: () => database.close(),
    prepare: (sql) => {
      const statement =
        prepared.get(sql) ??
        (sql === 'rollback' ? rollback(database) : adaptStatement(database.prepare(sql), beginTime))
      prepared.delete(sql)
      prepared.set(sql, statement)
      if (prepared.size > MAX_PREPARED_STATEMENTS) prepared.delete(prepared.keys().next().value ?? sql)
      return statement
    },
  }
}

/** SQLite has ended the transaction itself when its disk is full. A rollback that fails then would hide why. */
const rollback = (database: DatabaseSync): SqliteStatement => {
  const statement = adaptStatement(database.prepare('rollback'), () => {})
  const nothing = { changes: 0, lastInsertRowid: 0 }
  return { ...statement, run: (parameters) => (database.isTransaction ? statement.run(parameters) : nothing) }
}

const adaptStatement = (statement: StatementSync, beginTime: () => void): SqliteStatement => {
  const begin = (parameters: readonly unknown[]): SQLInputValue[] => {
    beginTime()
    return parameters as SQLInputValue[]
  }
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...begin(parameters)),
    run: (parameters) => statement.run(...begin(parameters)),
    iterate: (parameters) => statement.iterate(...begin(parameters)),
  }
}
