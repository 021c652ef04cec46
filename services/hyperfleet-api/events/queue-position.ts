import type { Timestamp } from '../model/timestamp.ts'
import type { Reader } from '../storage/dialect.ts'
import type { SharedTime } from '../storage/shared-time.ts'

/** What waits for a consumer group about one resource. */
export interface QueuePosition {
  readonly group: string
  readonly event: string
  readonly reason: string
  readonly generation: number
  readonly time: Timestamp
  /** How often it was taken. */
  readonly deliveries: number
  /** `Waiting` to be taken, `Taken` by a consumer that has not finished, `Dead` in the dead letters. */
  readonly state: 'Waiting' | 'Taken' | 'Dead'
  /** While it waits: how many events come before it in the group, itself included; undefined also where that is not counted. */
  readonly position?: number
}

/**
 * Deliveries about a resource that are not acknowledged, the oldest first.
 * @param shared decides which claims have ended @param isCounted whether the place of each is told
 */
export const readQueuePositions = async (
  reader: Reader,
  resourceId: string,
  shared: SharedTime,
  isCounted: boolean,
): Promise<QueuePosition[]> => {
  const rows = await reader
    .selectFrom('event_deliveries as delivery')
    .innerJoin('events as event', 'event.sequence', 'delivery.event_sequence')
    .select([
      'delivery.consumer',
      'delivery.event_sequence',
      'delivery.deliveries',
      'delivery.dead_time',
      'delivery.claim',
      'delivery.visible_time',
      'event.id',
      'event.reason',
      'event.generation',
      'event.time',
      shared.at().as('now'),
    ])
    .where('event.resource_id', '=', resourceId)
    .orderBy('delivery.event_sequence')
    .orderBy('delivery.consumer')
    .limit(MAX_POSITIONS)
    .execute()
  return Promise.all(
    rows.map(async (row): Promise<QueuePosition> => {
      const { consumer: group, id: event, reason, generation, time, deliveries } = row
      const entry = { group, event, reason, generation, time, deliveries }
      if (row.dead_time !== null) return { ...entry, state: 'Dead' }
      if (row.claim !== null && row.visible_time > row.now) return { ...entry, state: 'Taken' }
      if (!isCounted) return { ...entry, state: 'Waiting' }
      return { ...entry, state: 'Waiting', position: await countUpTo(reader, group, row.event_sequence) }
    }),
  )
}

/** Most deliveries that an answer lists. */
const MAX_POSITIONS = 20

const countUpTo = async (reader: Reader, consumer: string, sequence: number): Promise<number> => {
  const { count } = await reader
    .selectFrom('event_deliveries')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('consumer', '=', consumer)
    .where('dead_time', 'is', null)
    .where('event_sequence', '<=', sequence)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The newest pulse of a resource. */
export interface LastPulse {
  readonly time: Timestamp
  readonly reason: string
  readonly source: string
  /** When its sender means to ask again unless something changes. */
  readonly next: Timestamp | undefined
}

/** Undefined when there was none, or it is forgotten (three days). */
export const readLastPulse = async (reader: Reader, resourceId: string): Promise<LastPulse | undefined> => {
  const row = await reader
    .selectFrom('events')
    .select(['time', 'reason', 'document', 'next_time'])
    .where('resource_id', '=', resourceId)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { source } = JSON.parse(row.document) as { source: string }
  return { time: row.time, reason: row.reason, source, next: row.next_time ?? undefined }
}
