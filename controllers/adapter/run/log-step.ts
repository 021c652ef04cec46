import type { Logger } from '#operator/model/log.ts'
import type { LogLine, Scope } from '../task/task.ts'
import type { Redactor } from './redactor.ts'
import { TaskError } from './task-error.ts'

/** Writes a task's line to the log. A line that can't be rendered is no reason to fail: the log says so instead. */
export const says = (
  line: LogLine | undefined,
  scope: Scope,
  { veil, log }: { readonly veil: Redactor; readonly log: Logger },
): void => {
  if (line === undefined) return
  try {
    log[line.level](veil.text(line.message.render(scope)))
  } catch (error) {
    if (!(error instanceof TaskError)) throw error
    log.warn('a log line of the task could not be rendered', { problem: veil.text(error.message) })
  }
}
