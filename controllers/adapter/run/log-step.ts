import type { Logger } from '#operator/model/log.ts'
import type { LogLine, Scope } from '../task/task.ts'
import type { Redactor } from './redactor.ts'
import { TaskError } from './task-error.ts'

/** Writes a task's line to the log. A line that can't be rendered is no reason to fail: the log says so instead. */
export const logStep = (
  line: LogLine | undefined,
  scope: Scope,
  { redactor, log }: { readonly redactor: Redactor; readonly log: Logger },
): void => {
  if (line === undefined) return
  try {
    log[line.level](redactor.redactText(line.message.render(scope)))
  } catch (error) {
    if (!(error instanceof TaskError)) throw error
    log.warn('adapter: a log line of the task could not be rendered, the run continues', {
      problem: redactor.redactText(error.message),
    })
  }
}
