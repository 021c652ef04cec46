/** Whether the run applies or deletes: ADAPTER-33. */

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

/** `deleted_time` or `deleted_at`; null is as good as absent (ADAPTER-4). */
const isMarkedDeleted = (resource: JsonObject | undefined): boolean =>
  typeof (resource?.deleted_time ?? resource?.deleted_at) === 'string'
