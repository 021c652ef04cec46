import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { messageOf } from '#lib/errors/message-of.ts'
import type { EventQueue } from '../events/queue.ts'
import { timestampOf } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { Reader } from '../storage/dialect.ts'
import { readStatuses } from '../storage/statuses.ts'
import { applyTransition, lockForReports } from './apply-transition.ts'
import type { MutationContext } from './context.ts'

/**
 * Looks again at deletions that may have nothing left to wait for although no report says so (API-52): a consumer group has
 * finished with its event, or given it up, or is gone; or the configuration requires another adapter than before.
 *
 * The request that gave the reason is done already. It waits for the look, so that its caller sees what follows, and is not
 * refused when that fails: the log says so, and every minute all that wait for groups are looked at.
 */

export type RecheckScope =
  /** The deletion that waits for this event. */
  | { readonly event: number }
  /** Those that wait for this group. */
  | { readonly group: string }
  /** What of these waits for a group, in this order. */
  | { readonly resources: readonly string[] }
  /** Those that wait for groups: few, and found by an index. */
  | 'groups'
  /** Those that wait for groups of which none has anything left. */
  | 'finished'
  /** Every deletion, for what changed while no process ran. */
  | 'all'

/** How long one look waits for another writer of its resource, in milliseconds. */
const LOCK_TIMEOUT_MS = 1_000

/**
 * Removes what may go, and brings the others' status up to date. One that fails keeps no other from its turn.
 * @returns whether all were looked at; the log has what failed
 */
export const recheckDeletions = async (mutations: MutationContext, scope: RecheckScope): Promise<boolean> => {
  let isDone = true
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      isDone = false
      logFailure(mutations, error)
    }
  }
  await attempt(async () => {
    const rows = await readDeletions(mutations.database.kysely, scope)
    for (const { id, kind } of rows) await attempt(() => recheckDeletion(mutations, kind, id))
    if (rows.length > 0) mutations.notifyCommitted()
  })
  return isDone
}

const logFailure = ({ log }: MutationContext, error: unknown): void =>
  log.warn('a deletion was not looked at again, which is done within a minute', { error: messageOf(error) })

const readDeletions = (
  reader: Reader,
  scope: RecheckScope,
): Promise<{ readonly id: string; readonly kind: string }[]> => {
  const deleting = reader.selectFrom('resources').select(['id', 'kind']).where('deleted_time', 'is not', null)
  if (scope === 'all') return deleting.execute()
  const waiting = deleting.where('awaited_groups', 'is not', null)
  if (scope === 'groups') return waiting.execute()
  if (scope === 'finished')
    // What groups have taken of earlier generations: see `readUnfinishedRuns`.
    return waiting
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('event_deliveries as delivery')
              .innerJoin('events as event', 'event.sequence', 'delivery.event_sequence')
              .select('delivery.event_sequence')
              .whereRef('event.resource_id', '=', 'resources.id')
              .whereRef('event.generation', '<', 'resources.generation')
              .where('delivery.dead_time', 'is', null)
              .where((is) => is.or([is('delivery.deliveries', '>', 0), is('delivery.is_pulled', '>', 0)])),
          ),
        ),
      )
      .execute()
  if ('event' in scope)
    return waiting
      .where('id', '=', (inner) => inner.selectFrom('events').select('resource_id').where('sequence', '=', scope.event))
      .execute()
  // Names of groups have no character that LIKE or JSON means anything by.
  if ('group' in scope) return waiting.where('awaited_groups', 'like', `%"${scope.group}"%`).execute()
  return scope.resources.length === 0 ? Promise.resolve([]) : waiting.where('id', 'in', scope.resources).execute()
}

const recheckDeletion = async (mutations: MutationContext, kind: string, id: string): Promise<void> => {
  const { database } = mutations
  const entity = mutations.entities.byKind(kind)
  // A kind that is configured no more: its records wait until it is served again.
  if (entity === undefined) return
  const address = { entity, id }
  try {
    await database.transaction(async (writer) => {
      // Told apart by this statement from what a request does: it may have gone since it was listed.
      const there = await writer
        .selectFrom('resources')
        .select('awaited_groups')
        .where('id', '=', id)
        .executeTakeFirst()
      if (there === undefined) return
      if (database.dialect === 'postgres')
        await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(writer)
      const before = await lockForReports(writer, mutations, address)
      const rows = await readStatuses(writer, id)
      const { lastTransitionTime } = before.status
      const time = timestampOf(mutations.now())
      await applyTransition(writer, mutations, { entity, before, rows, lastTransitionTime, time })
    })
  } catch (error) {
    // It is gone meanwhile.
    if (!(error instanceof Problem && error.problem === 'notFound')) throw error
  }
}

const MINUTE_MS = 60_000
/** Between looks at what clients of NATS have acknowledged there, while a deletion waits for it. */
const ELSEWHERE_MS = 1_000

interface Rechecked extends MutationContext {
  readonly queue: Pick<EventQueue, 'isAcknowledgedElsewhere' | 'recordProgress'>
}

/**
 * Rechecks all deletions now and those that wait for groups every minute: an acknowledgement whose process ended before it
 * looked, and events that were given up or forgotten. What is acknowledged elsewhere is asked for every second while a deletion
 * waits for it. Returns how to stop.
 */
export const startRechecks = (mutations: Rechecked): (() => Promise<void>) => {
  const stop = new AbortController()
  const pause = (ms: number) => delay(ms, undefined, { signal: stop.signal }).catch(() => undefined)
  const run = async (): Promise<void> => {
    for (let scope: RecheckScope = 'all'; !stop.signal.aborted; ) {
      if (await recheckDeletions(mutations, scope)) scope = 'groups'
      const until = performance.now() + MINUTE_MS
      const { queue } = mutations
      while (queue.isAcknowledgedElsewhere && performance.now() < until && !stop.signal.aborted) {
        await pause(ELSEWHERE_MS)
        if (!(await recheckFinished(mutations))) break
      }
      await pause(until - performance.now())
    }
  }
  const running = run()
  return async () => {
    stop.abort()
    await running
  }
}

/** @returns whether all were looked at; the log has what failed */
const recheckFinished = async (mutations: Rechecked): Promise<boolean> => {
  try {
    if ((await readDeletions(mutations.database.kysely, 'groups')).length === 0) return true
    await mutations.queue.recordProgress()
  } catch (error) {
    logFailure(mutations, error)
    return false
  }
  return recheckDeletions(mutations, 'finished')
}
