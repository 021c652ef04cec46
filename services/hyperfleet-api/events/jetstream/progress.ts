import { AckPolicy, type ConsumerInfo } from '@nats-io/jetstream'
import type { Entities } from '../../model/entity.ts'
import { timestampOf } from '../../model/timestamp.ts'
import type { Database } from '../../storage/database.ts'
import type { Writer } from '../../storage/dialect.ts'
import { type BrokerConnection, STREAM } from './broker.ts'
import { deleteDurable, ensureDurable, isOwnConsumer, subjectsOf } from './durable-consumers.ts'
import { subjectOf } from './relay.ts'

/** A durable consumer without a group is left alone for so many milliseconds: its group may be about to be stored. */
const ORPHAN_GRACE_MS = 60_000

/**
 * Brings the database up to what clients did at JetStream itself, binding a durable consumer instead of claiming here:
 * what they took is taken, and what they acknowledged is no longer waiting. Also makes durable consumers that are missing
 * and deletes those whose group is gone.
 */
export const syncConsumerProgress = async (
  { manager }: BrokerConnection,
  database: Database,
  entities: Entities,
  now: Date,
): Promise<void> => {
  const rows = await database.kysely.selectFrom('event_consumers').select(['name', 'kind']).execute()
  const groups = new Map(rows.map(({ name, kind }) => [name, kind]))
  const durables: ConsumerInfo[] = []
  for await (const info of manager.consumers.list(STREAM))
    if (info.config.durable_name !== undefined && info.config.ack_policy !== AckPolicy.None) durables.push(info)

  await database.transaction(async (writer) => {
    for (const info of durables) {
      if (groups.has(info.name)) await recordGroupProgress(writer, info, now)
      else if (!isOwnConsumer(info)) await recordForeignProgress(writer, info, entities, now)
    }
  })
  for (const info of durables)
    if (isOwnConsumer(info) && !groups.has(info.name) && now.getTime() - Date.parse(info.created) > ORPHAN_GRACE_MS)
      await deleteDurable(manager, info.name)
  for (const [name, kind] of groups)
    if (!durables.some((info) => info.name === name))
      await ensureDurable(manager, name, subjectOf(entities, kind), 'everything')
}

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
