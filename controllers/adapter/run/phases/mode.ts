/** Whether the run applies or deletes: ADAPTER-33. */

import type { Mode } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { Expression, JsonObject, Scope } from '../../task/task.ts'
import type { RunState } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { isTrue } from './preconditions.ts'

/** @throws TaskError when `when_deleting` has no value: then nothing is applied and nothing deleted */
export const decideMode = ({ task, resource, scope }: RunState): Mode => {
  const { whenDeleting } = task
  const isDeleting = whenDeleting === undefined ? isMarkedDeleted(resource) : isTrueWithAbsent(whenDeleting, scope)
  return isDeleting ? 'delete' : 'apply'
}

/**
 * ADAPTER-71: a capture of a field that living resources don't have, such as the time of their deletion, is no variable. It counts as
 * empty, so that `deletionTimestamp != ''` means what it says; but that it is absent deletes nothing.
 */
const isTrueWithAbsent = ({ text, variables, evaluate }: Expression, scope: Scope): boolean => {
  try {
    return isTrue(text, evaluate(scope))
  } catch (error) {
    const absent = variables.filter((name) => !Object.hasOwn(scope, name))
    if (!(error instanceof TaskError) || absent.length === 0) throw error
    const empty = /\bnull\b/.test(text) ? null : ''
    const filled = { ...scope, ...Object.fromEntries(absent.map((name) => [name, empty])) }
    if (!isTrue(text, evaluate(filled))) return false
    throw new TaskError(
      'ExpressionFailed',
      `${text} would be true only because ${absent.join(', ')} has no value, and nothing is deleted because of that: write ${absent[0]} != '' first`,
      { cause: error },
    )
  }
}

/** `deleted_time` or `deleted_at`; null is as good as absent (ADAPTER-4). */
export const isMarkedDeleted = (resource: JsonObject | undefined): boolean =>
  typeof (resource?.deleted_time ?? resource?.deleted_at) === 'string'
