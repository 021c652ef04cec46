/** Whether the run applies or deletes. Seed: adapter-deletion, `when_deleting` is evaluated after the preconditions. */

import type { Mode } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { JsonObject } from '../../task/task.ts'
import type { RunState } from '../run-state.ts'
import { isTrue } from './preconditions.ts'

/** @throws TaskError when `when_deleting` has no value: then nothing is applied and nothing deleted */
export const decideMode = ({ task, resource, scope }: RunState): Mode => {
  const { whenDeleting } = task
  const isDeleting =
    whenDeleting === undefined ? isMarkedDeleted(resource) : isTrue(whenDeleting.text, whenDeleting.evaluate(scope))
  return isDeleting ? 'delete' : 'apply'
}

/** `deleted_time`, or the seed's `deleted_at`; null is the same as nothing. */
const isMarkedDeleted = (resource: JsonObject | undefined): boolean =>
  typeof (resource?.deleted_time ?? resource?.deleted_at) === 'string'
