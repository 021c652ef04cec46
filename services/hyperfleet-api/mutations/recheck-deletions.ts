import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '#operator/model/log.ts'
import { timestampOf } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import { readStatuses } from '../storage/statuses.ts'
import { applyTransition, lockForReports } from './apply-transition.ts'
import type { MutationContext } from './context.ts'

/**
 * Looks again at deletions that may have nothing left to wait for although no report says so (API-52): a consumer group has
 * finished with its event, or given it up, or is gone; or the configuration requires another adapter than before.
 */

export type RecheckScope =
  /** Those that wait for consumer groups: few, and found by an index. */
  | 'groups'
  /** Every deletion, for what changed while no process ran. */
  | 'all'

/** Removes what may go, and brings the others' status up to date. */
export const recheckDeletions = async (mutations: MutationContext, scope: RecheckScope): Promise<void> => {
  const { kysely } = mutations.database
  const deleting = kysely.selectFrom('resources').select(['id', 'kind']).where('deleted_time', 'is not', null)
  const rows = await (scope === 'groups' ? deleting.where('awaited_groups', 'is not', null) : deleting).execute()
  for (const { id, kind } of rows) await recheckDeletion(mutations, kind, id)
  if (rows.length > 0) mutations.notifyCommitted()
}

const recheckDeletion = async (mutations: MutationContext, kind: string, id: string): Promise<void> => {
  const entity = mutations.entities.byKind(kind)
  // A kind that is configured no more: its records wait until it is served again.
  if (entity === undefined) return
  const address = { entity, id }
  try {
    await mutations.database.transaction(async (writer) => {
      // Told apart by this statement from what a request does: it may have gone since it was listed.
      const there = await writer
        .selectFrom('resources')
        .select('awaited_groups')
        .where('id', '=', id)
        .executeTakeFirst()
      if (there === undefined) return
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

/**
 * Rechecks all deletions now and those that wait for groups every minute: an acknowledgement whose process ended before it
 * looked, and events that were given up or forgotten. Returns how to stop.
 */
export const startRechecks = (mutations: MutationContext, log: Pick<Logger, 'warn'>): (() => Promise<void>) => {
  const stop = new AbortController()
  const run = async (): Promise<void> => {
    for (let scope: RecheckScope = 'all'; !stop.signal.aborted; ) {
      try {
        await recheckDeletions(mutations, scope)
        scope = 'groups'
      } catch (error) {
        log.warn('deletions were not looked at again, trying again in a minute', {
          error: error instanceof Error ? error.message : String(error),
        })
      }
      await delay(MINUTE_MS, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }
  const running = run()
  return async () => {
    stop.abort()
    await running
  }
}
