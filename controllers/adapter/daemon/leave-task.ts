/** What is done when an AdapterTask is deleted. */
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { ApiTime } from '../http/api-time.ts'
import type { Task } from '../task/task.ts'
import { connectApi, createEventSource } from './connect.ts'
import { accountTokenOf, type ConnectionDeps, connectTask, userAgentOf } from './connect-task.ts'
import { sweepDeletedTask } from './sweep-deleted-task.ts'

/** How long it may take to take away what a deleted task has applied. */
const SWEEP_TIMEOUT_MS = 120_000
/** How long the API may take to remove the group of a deleted task. */
const GROUP_REMOVAL_TIMEOUT_MS = 5_000

/** Best effort: what could not be done is logged. @param task as it could be read last */
export const leaveTask = async (
  context: DaemonContext<AdapterTask>,
  deps: ConnectionDeps,
  task: Task | undefined,
): Promise<void> => {
  if (context.spec.retention?.whenTaskDeleted === 'Delete' && task !== undefined) await sweep(context, deps, task)
  if (context.spec.events.consumer === undefined) await removeGroup(context, deps)
}

/** ADAPTER-73. */
const sweep = async (context: DaemonContext<AdapterTask>, deps: ConnectionDeps, task: Task): Promise<void> => {
  const { log, api, name, namespace } = context
  const isReplaced = async () => (await api.get(AdapterTask, name, namespace)) !== undefined
  const connections = connectTask(context, deps, task, new ApiTime(context.clock))
  using limit = new AbortScope().within(SWEEP_TIMEOUT_MS)
  const remedy = '"muster adapter orphans" lists what is left'
  try {
    const left = await sweepDeletedTask({ ...connections.runner, isReplaced, signal: limit.signal })
    if (left > 0) log.warn(`adapter: something that a deleted task has applied is left, ${remedy}`, { left })
  } catch (error) {
    const problem = messageOf(error)
    log.warn(`adapter: what a deleted task has applied could not be taken away, ${remedy}`, { problem })
  } finally {
    await connections.close()
  }
}

/** Events would wait for a task that is gone. A group that the spec names stays, as other tasks may use it: ADAPTER-21. */
const removeGroup = async (context: DaemonContext<AdapterTask>, deps: ConnectionDeps): Promise<void> => {
  const { spec, object, name, clock, log } = context
  const { version, access } = deps
  const userAgent = userAgentOf(name, version)
  const accountToken = accountTokenOf(context, deps)
  const { connection, caller } = connectApi(spec, { access, accountToken, userAgent, clock })
  const source = await createEventSource(object, caller, access, () => {})
  using limit = new AbortScope().within(GROUP_REMOVAL_TIMEOUT_MS)
  try {
    await source.remove(limit.signal)
  } catch (error) {
    log.warn('adapter: the consumer group of a deleted task could not be removed, delete it at the API', {
      problem: messageOf(error),
    })
  } finally {
    await source.close()
    await connection.close()
  }
}
