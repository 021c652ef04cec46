import { AckPolicy, type ConsumerInfo, type JetStreamManager } from '@nats-io/jetstream'
import type { Kysely } from 'kysely'
import { EVENT_STREAM } from '#apis/hyperfleet.redhat.com/event-stream.ts'
import type { Entities } from '../../model/entity.ts'
import { timestampOf } from '../../model/timestamp.ts'
import type { Reader, Writer } from '../../storage/dialect.ts'
import type { Tables } from '../../storage/schema.ts'
import { deleteDurable, ensureDurable, isOwnConsumer, subjectsOf } from './durable-consumers.ts'
import { subjectOf } from './relay.ts'

/** A durable consumer without a group is left alone for so many milliseconds: its group may be about to be stored. */
const ORPHAN_GRACE_MS = 60_000

/** What NATS says of durable consumers, and the groups that are theirs. */
export interface ConsumerProgress {
  readonly durables: readonly ConsumerInfo[]
  /** The kind of each group's events, by its name. */
  readonly groups: ReadonlyMap<string, string>
  readonly entities: Entities
  readonly now: Date
}

/** The durable consumers of the stream that can acknowledge. */
export const listDurables = async (manager: JetStreamManager): Promise<ConsumerInfo[]> => {
  const durables: ConsumerInfo[] = []
  for await (const info of manager.consumers.list(EVENT_STREAM))
    if (info.config.durable_name !== undefined && info.config.ack_policy !== AckPolicy.None) durables.push(info)
  return durables
}

/** The kind of each group's events, by its name. */
export const readGroups = async (reader: Reader): Promise<ReadonlyMap<string, string>> => {
  const rows = await reader.selectFrom('event_consumers').select(['name', 'kind']).execute()
  return new Map(rows.map(({ name, kind }) => [name, kind]))
}

/**
 * Brings the database up to what clients did at JetStream itself, binding a durable consumer instead of claiming here:
 * what they took is taken, and what they acknowledged is no longer waiting.
 */
export const recordProgress = async (
  writer: Writer,
  { durables, groups, entities, now }: ConsumerProgress,
): Promise<void> => {
  for (const info of durables) {
    if (groups.has(info.name)) await recordGroupProgress(writer, info, now)
    else if (!isOwnConsumer(info)) await recordForeignProgress(writer, info, entities, now)
  }
}

/** Makes durable consumers that are missing, and deletes those whose group is gone. */
export const repairDurables = async (
  manager: JetStreamManager,
  { durables, groups, entities }: Omit<ConsumerProgress, 'now'>,
): Promise<void> => {
  for (const info of durables)
    if (isOwnConsumer(info) && !groups.has(info.name) && ageOf(info) > ORPHAN_GRACE_MS)
      await deleteDurable(manager, info.name)
  for (const [name, kind] of groups)
    if (!durables.some((info) => info.name === name))
      await ensureDurable(manager, name, subjectOf(entities, kind), 'everything')
}

/** The relayed events about a resource of which it is not known that a consumer has taken them. */
export const readUntaken = async (reader: Reader, resourceId: string, reason: string): Promise<number[]> => {
  const rows = await reader
    .selectFrom('events')
    .select('sequence')
    .where('resource_id', '=', resourceId)
    .where('reason', '=', reason)
    .where('taken_time', 'is', null)
    .where('stream_sequence', 'is not', null)
    .execute()
  return rows.map(({ sequence }) => sequence)
}

export const markTaken = async (kysely: Kysely<Tables>, sequences: readonly number[], now: Date): Promise<void> => {
  await kysely
    .updateTable('events')
    .set({ taken_time: timestampOf(now) })
    .where('sequence', 'in', sequences)
    .execute()
}

/** Milliseconds by the clock of NATS, which told both times. */
const ageOf = (info: ConsumerInfo): number =>
  // What time it was is told beside what the client has types for.
  Date.parse((info as { readonly ts?: string }).ts ?? '') - Date.parse(info.created)

const recordGroupProgress = async (
  writer: Writer,
  { name, delivered, ack_floor }: ConsumerInfo,
  now: Date,
): Promise<void> => {
  await writer
    .updateTable('events')
    .set({ taken_time: timestampOf(now) })
    .where('taken_time', 'is', null)
    .where('sequence', 'in', (inner) =>
      inner
        .selectFrom('event_deliveries')
        .select('event_sequence')
        .where('consumer', '=', name)
        .where('stream_sequence', '<=', delivered.stream_seq),
    )
    .execute()
  await writer
    .updateTable('event_deliveries')
    .set({ is_pulled: 1 })
    .where('consumer', '=', name)
    .where('is_pulled', '=', 0)
    .where('stream_sequence', '<=', delivered.stream_seq)
    .execute()
  await writer
    .deleteFrom('event_deliveries')
    .where('consumer', '=', name)
    .where('dead_time', 'is', null)
    .where('stream_sequence', '<=', ack_floor.stream_seq)
    .execute()
}

/** A durable consumer that was made at NATS without this API. */
const recordForeignProgress = async (
  writer: Writer,
  info: ConsumerInfo,
  entities: Entities,
  now: Date,
): Promise<void> => {
  const subjects = subjectsOf(info)
  const kinds = entities.all
    .filter(({ kind }) => subjects.length === 0 || subjects.includes(subjectOf(entities, kind)))
    .map(({ kind }) => kind)
  // One that has taken nothing yet stands at the place where it begins.
  if (kinds.length === 0 || info.delivered.consumer_seq === 0) return
  await writer
    .updateTable('events')
    .set({ taken_time: timestampOf(now) })
    .where('taken_time', 'is', null)
    .where('kind', 'in', kinds)
    .where('stream_sequence', '<=', info.delivered.stream_seq)
    .execute()
}
