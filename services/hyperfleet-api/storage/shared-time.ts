import { type RawBuilder, sql } from 'kysely'
import { type Clock, systemClock } from '#operator/model/clock.ts'
import { type Timestamp, timestampOf } from '../model/timestamp.ts'
import type { Database } from './database.ts'

/** Before every clock: of a delivery that no claim hides. */
export const ALWAYS_VISIBLE: Timestamp = '1970-01-01T00:00:00.000000Z'

/** The time that is the same for all replicas: what one hides until a moment, no other takes for visible before (API-75). */
export interface SharedTime {
  /** So many milliseconds from now, as an expression in SQL. */
  at(milliseconds?: number): RawBuilder<Timestamp>
}

/** PostgreSQL's, whatever the clocks of the replicas say. The clock's where one process has the database, or a test the clock. */
export const sharedTime = ({ dialect }: Pick<Database, 'dialect'>, clock: Clock): SharedTime =>
  dialect === 'postgres' && clock === systemClock
    ? {
        at: (milliseconds = 0) => sql`to_char(
          statement_timestamp() at time zone 'UTC' + ${milliseconds}::double precision * interval '1 millisecond',
          'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
      }
    : {
        at: (milliseconds = 0) => sql`cast(${timestampOf(new Date(clock.now().getTime() + milliseconds))} as text)`,
      }
