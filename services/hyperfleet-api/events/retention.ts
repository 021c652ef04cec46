import type { Timestamp } from '../model/timestamp.ts'
import type { Database } from '../storage/database.ts'

/** Which events are forgotten; their deliveries and dead letters go with them. */
export interface EventRetention {
  /** Posted before this, whatever became of them. */
  readonly before: Timestamp
  /** Taken and acknowledged by every group that wanted them, and posted before this. */
  readonly finishedBefore: Timestamp
  /** Most events that are kept: beyond it the oldest go, so that a group without workers fills no disk. */
  readonly maxEvents: number
}

/** Deletes the events that are kept no longer. A group that has not taken one of them never gets it. */
export const deleteOldEvents = async (
  { kysely }: Database,
  { before, finishedBefore, maxEvents }: EventRetention,
): Promise<void> => {
  await kysely.deleteFrom('events').where('time', '<', before).execute()
  await kysely
    .deleteFrom('events')
    .where('time', '<', finishedBefore)
    .where('taken_time', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('event_deliveries')
            .select('consumer')
            .whereRef('event_deliveries.event_sequence', '=', 'events.sequence'),
        ),
      ),
    )
    .execute()
  await kysely
    .deleteFrom('events')
    .where('sequence', '<=', (inner) =>
      inner.selectFrom('events').select(({ fn, eb }) => eb(fn.max('sequence'), '-', maxEvents).as('last')),
    )
    .execute()
}
