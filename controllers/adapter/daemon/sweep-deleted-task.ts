/**
 * Takes away what a deleted AdapterTask has applied, when it says so: ADAPTER-73. It is done once, when the deletion is seen; what a
 * manager that is stopped meanwhile leaves is listed by `muster adapter orphans`. A task that is made again under the name has the
 * inventories from then on, and prunes what it does not apply itself.
 */
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { type Selector, selectorOf } from '#operator/model/selector.ts'
import { TaskRunner, type TaskRunnerOptions } from './task-runner.ts'

export interface SweepOptions extends Omit<TaskRunnerOptions, 'selector' | 'retention'> {
  readonly clock: Clock
  readonly log: Logger
  /** Whether a task of the name is there again. */
  readonly isReplaced: () => Promise<boolean>
  /** Ends it, done or not. */
  readonly signal: AbortSignal
}

/** How often what is still there is looked at. */
const POLL_INTERVAL_MS = 2_000

/** A task that is gone selects no resource. */
const NOTHING: Selector = selectorOf({
  matchExpressions: [
    { key: 'muster.dev/task', operator: 'Exists' },
    { key: 'muster.dev/task', operator: 'DoesNotExist' },
  ],
})

/** @returns how many resources have something left. @throws what the API server failed with */
export const sweepDeletedTask = async ({ signal, isReplaced, ...options }: SweepOptions): Promise<number> => {
  const { inventories, clock, log } = options
  await inventories.load(signal)
  const runner = new TaskRunner(
    { ...options, selector: NOTHING, retention: {} },
    { ensureWatched: () => {}, ensureSharedWatched: () => {}, recordOwnWrite: () => {} },
  )
  for (;;) {
    for (const { event: data } of inventories.owners) {
      if (signal.aborted) return inventories.owners.length
      try {
        if (await isReplaced()) {
          log.info('adapter: a task of the name of a deleted one is there, it takes over what that has applied')
          return 0
        }
        await runner.run({ id: `swept.${data.id}`, type: 'swept', traceparent: undefined, data }, signal)
      } catch (error) {
        if (signal.aborted) return inventories.owners.length
        log.warn('adapter: what a deleted task has applied could not be taken away, trying again', {
          resource: data.id,
          err: error,
        })
      }
    }
    if (inventories.owners.length === 0) return 0
    await clock.sleep(POLL_INTERVAL_MS, signal)
  }
}
