import type { Timestamp } from '../model/timestamp.ts'
import type { Database } from './database.ts'
import type { ResourceWrite } from './resource-write.ts'
import { execute } from './sql-text.ts'
import { writeStatement } from './write-statement.ts'

/** A step that is a transaction by itself, which one statement of PostgreSQL is. It must not change what the resource names. */
export const commitStep = async (database: Database, step: ResourceWrite, time: Timestamp): Promise<void> => {
  await execute(database, writeStatement(step, time))
  database.notifyCommitted([step])
}
