import { sql } from 'kysely'
import type { Timestamp } from '../model/timestamp.ts'
import type { Reader } from './dialect.ts'

/** How many resources of a kind wait for adapters, and since when. */
export interface Backlog {
  readonly kind: string
  readonly isDelete: boolean
  readonly pending: number
  /** Those that have waited since before the moment asked for. */
  readonly stuck: number
  /** Since when the one has waited that waits longest. */
  readonly oldest: Timestamp
}

/** Resources of a kind in deletion that wait for the same adapters and groups; for children alone when there are none. */
export interface StuckDeletions {
  readonly kind: string
  readonly awaited: readonly string[]
  /** Consumer groups that have not finished with an event from before the deletion. */
  readonly groups: readonly string[]
  readonly count: number
}

/** Waiting since the condition became False; and in deletion, since that was asked for. */
export const readBacklog = async (reader: Reader, stuckBefore: Timestamp): Promise<Backlog[]> => {
  const deleting = await deletingQuery(reader, stuckBefore).execute()
  const notReady = await notReadyQuery(reader, stuckBefore).execute()
  return [
    ...deleting.map((row) => ({ ...toNumbers(row), isDelete: true })),
    ...notReady.map((row) => ({ ...toNumbers(row), isDelete: false })),
  ]
}

/** Deletions that have waited since before this moment, by kind and by whom they wait for. */
export const readStuckDeletions = async (reader: Reader, stuckBefore: Timestamp): Promise<StuckDeletions[]> => {
  const rows = await stuckDeletionsQuery(reader, stuckBefore).execute()
  return rows.map(({ kind, awaited, awaited_groups, count }) => ({
    kind,
    awaited: JSON.parse(awaited ?? '[]') as string[],
    groups: JSON.parse(awaited_groups ?? '[]') as string[],
    count: Number(count),
  }))
}

// The queries are apart so that tests can look at their plans. Kysely's literals, because an index on some of the rows
// is only used when the statement says which.

export const deletingQuery = (reader: Reader, stuckBefore: Timestamp) =>
  reader
    .selectFrom('resources')
    .where('deleted_time', 'is not', null)
    .groupBy('kind')
    .select(['kind', ({ fn }) => fn.countAll().as('pending'), ({ fn }) => fn.min('deleted_time').as('oldest')])
    .select(sql<number>`sum(case when deleted_time < ${stuckBefore} then 1 else 0 end)`.as('stuck'))

export const stuckDeletionsQuery = (reader: Reader, stuckBefore: Timestamp) =>
  reader
    .selectFrom('resources')
    .where('deleted_time', 'is not', null)
    .where('deleted_time', '<', stuckBefore)
    .groupBy(['kind', 'awaited', 'awaited_groups'])
    .select(['kind', 'awaited', 'awaited_groups', ({ fn }) => fn.countAll().as('count')])

export const notReadyQuery = (reader: Reader, stuckBefore: Timestamp) =>
  reader
    .selectFrom('resource_conditions')
    .where('type', '=', sql.lit('Ready'))
    .where('status', '=', sql.lit('False' as const))
    .where('resource_id', 'not in', (inner) =>
      inner.selectFrom('resources').select('id').where('deleted_time', 'is not', null),
    )
    .groupBy('kind')
    .select(['kind', ({ fn }) => fn.countAll().as('pending'), ({ fn }) => fn.min('last_transition_time').as('oldest')])
    .select(sql<number>`sum(case when last_transition_time < ${stuckBefore} then 1 else 0 end)`.as('stuck'))

const toNumbers = ({
  kind,
  pending,
  stuck,
  oldest,
}: {
  kind: string
  pending: string | number | bigint
  stuck: string | number | bigint
  oldest: Timestamp | null
}) => ({ kind, pending: Number(pending), stuck: Number(stuck), oldest: oldest ?? '' })
