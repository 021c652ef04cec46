import { EVENT_STREAM } from '#apis/hyperfleet.redhat.com/event-stream.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Wakeup } from '../../feed/wakeup.ts'
import type { Entities } from '../../model/entity.ts'
import type { Database } from '../../storage/database.ts'
import type { Broker } from './broker.ts'
import { readPlaces, relayMissing, withPlaces } from './places.ts'
import { listDurables, readGroups, recordProgress, repairDurables } from './progress.ts'

export interface SyncOptions {
  readonly broker: Broker
  readonly database: Database
  readonly entities: Entities
  readonly wakeup: Wakeup
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Brings the database up to what clients did at JetStream itself, and JetStream's consumers up to the database.
 * @returns whether it is known now what clients took there
 */
export const syncProgress = async (options: SyncOptions): Promise<boolean> => {
  const { broker, database, entities, wakeup, clock, log } = options
  try {
    await broker.ensureStream()
    const { manager } = broker.connected()
    // In this order: consumers of a stream that was purged or replaced say of what is gone that they are past it.
    const record = await readPlaces(database.kysely)
    const durables = await listDurables(manager)
    const info = await manager.streams.info(EVENT_STREAM, { deleted_details: true })
    if (await relayMissing(database, record, info)) {
      log.warn('jetstream: the stream was replaced, restored or purged, events that wait are handed to it again')
      wakeup.wake('events')
      return await syncProgress(options)
    }
    const groups = await readGroups(database.kysely)
    const isRecorded = await withPlaces(database, record, 'look', (writer) =>
      recordProgress(writer, { durables, groups, entities, now: clock.now() }),
    )
    await repairDurables(manager, { durables, groups, entities })
    return isRecorded
  } catch (error) {
    log.debug('jetstream: what clients took at NATS itself is not known, asking again', { error: messageOf(error) })
    return false
  }
}
