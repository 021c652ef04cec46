/**
 * Forgets resources that fail or are being deleted, once the API does not have them or the task does not select them. No event comes
 * for a resource that is removed by force or has other labels: it would be counted as failing, or stuck, for ever.
 */
import type { Clock } from '#operator/model/clock.ts'
import { hrefOf, type ReconcileEvent } from '../events/reconcile-event.ts'
import type { HttpClient } from '../http/client.ts'
import { ApiReader, NothingToDoError } from '../run/api-reader.ts'
import type { JsonObject } from '../task/task.ts'
import type { TaskStats } from './task-stats.ts'

export interface ForgetDeletedOptions {
  readonly stats: TaskStats
  /** Of the HyperFleet API. */
  readonly apiClient: HttpClient
  readonly isSelected: (resource: JsonObject) => boolean
  /** Something is written down for the resource: ./check-inventories.ts sees to it that a run looks. */
  readonly hasInventory: (id: string) => boolean
  readonly onForgotten: () => void
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** How long a resource may be without an event before the API is asked whether it is still there. */
const UNHEARD_AFTER_MS = 60_000

/** Checks every minute until the signal aborts. */
export const forgetDeleted = async (options: ForgetDeletedOptions): Promise<void> => {
  const { stats, hasInventory, onForgotten, clock, signal } = options
  while (!signal.aborted) {
    await clock.sleep(UNHEARD_AFTER_MS, signal)
    for (const event of stats.unheardSince(clock.now().getTime() - UNHEARD_AFTER_MS)) {
      if (signal.aborted || hasInventory(event.data.id) || !(await isGoneOrUnselected(event, options))) continue
      stats.forget(event.data.id)
      onForgotten()
    }
  }
}

/** False when the API does not answer. */
const isGoneOrUnselected = async (
  event: ReconcileEvent,
  { apiClient, isSelected, signal }: ForgetDeletedOptions,
): Promise<boolean> => {
  try {
    const resource = await new ApiReader(apiClient, hrefOf(event), event.data.id).resource(signal)
    return resource !== undefined && !isSelected(resource)
  } catch (error) {
    return error instanceof NothingToDoError
  }
}
