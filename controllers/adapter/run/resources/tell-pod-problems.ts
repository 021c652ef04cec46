/** What was applied and gets no pod that runs, since Kubernetes refuses it or no node takes it, fails the run as if it had been refused itself: CLUSTER-94. */
import type { JsonObject } from '../../task/task.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { awaitedPods } from './awaited-pods.ts'
import { describeObject } from './object.ts'

/** @throws the signal's reason */
export const tellPodProblems = async (state: RunState, context: RunContext): Promise<void> => {
  const { podProblems, clock, log, signal } = context
  if (podProblems === undefined) return
  for (const { name, transport } of state.task.resources) {
    const object = state.resources[name] as JsonObject | undefined
    if (object === undefined || transport.kind === 'http') continue
    const wait = awaitedPods(object, clock.now())
    if (wait === undefined) continue
    const problem = await podProblems.find(object, wait, signal).catch((error: unknown) => {
      if (!(error instanceof TaskError)) throw error
      log.warn('adapter: why there is no pod can’t be read, it is read with the next run', { problem: error.message })
      return undefined
    })
    if (problem === undefined) continue
    const message = `${name} (${describeObject(object)}) has no pod that runs: ${problem.message}`
    state.fail('resources', name, new TaskError(problem.reason, message))
  }
}
