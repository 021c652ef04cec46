/** Phase 5: runs the task's post actions. The first failure ends it. ADAPTER-9, ADAPTER-10. */
import { messageOf } from '#lib/errors/message-of.ts'
import { RequestError } from '../../http/client.ts'
import type { PostAction } from '../../task/task.ts'
import { type Absence, absenceOf } from '../api-reader.ts'
import { logStep } from '../log-step.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { isMarkedDeleted } from './mode.ts'
import { isTrue } from './preconditions.ts'

export interface ActionsResult {
  /** False when an action that reports failed. */
  readonly isReported: boolean
  /** The API does not have the resource any more. */
  readonly absence?: Absence
}

/**
 * Runs them in order.
 * @param remaining resources that a deletion still waits for
 * @throws the signal's reason
 */
export const runActions = async (
  state: RunState,
  remaining: readonly string[],
  context: RunContext,
): Promise<ActionsResult> => {
  for (const action of state.task.postActions) {
    await state.budget.giveTurn()
    try {
      const report = await perform(action, state, remaining, context)
      state.actions.push({ name: action.name, ...report })
    } catch (error) {
      // The resource is gone meanwhile, and needs no report.
      if (context.api.isResourceGone(error)) {
        state.actions.push({ name: action.name, status: 'skipped', message: error.message })
        return { isReported: true, absence: absenceOf(error) }
      }
      state.fail('post_actions', action.name, error)
      state.actions.push({ name: action.name, status: 'failed', message: messageOf(error) })
      return { isReported: error instanceof RequestError && error.status !== undefined && error.status < 500 }
    }
  }
  return { isReported: true }
}

type ActionOutcome = { readonly status: 'done' | 'skipped' | 'unchanged'; readonly message?: string }

const perform = async (
  action: PostAction,
  state: RunState,
  remaining: readonly string[],
  context: RunContext,
): Promise<ActionOutcome> => {
  const { when, call, log, payloads } = action
  const { scope } = state
  if (when !== undefined && !isTrue(when.text, when.evaluate(scope)))
    return { status: 'skipped', message: `${when.text} is false` }
  const skipped = payloads.find((name) => state.payloads.some((payload) => payload.name === name && payload.skipped))
  if (skipped !== undefined) return { status: 'skipped', message: `its payload ${skipped} was not built` }
  logStep(log, scope, { redactor: state.redactor, log: context.log })
  if (call === undefined) return { status: 'done' }
  const { api, reportDedup, clock, signal } = context
  const body = call.body?.render(scope)
  const isReport = body !== undefined && call.method !== 'GET' && /\/statuses\/?$/.test(call.url.render(scope))
  if (isReport && remaining.length > 0 && isMarkedDeleted(state.resource)) refuseEarlyEnd(body, remaining)
  const key = `${state.event.data.id}/${action.name}`
  const now = clock.now().getTime()
  if (isReport && !state.isDeleted && reportDedup.isRepeat(key, body, now)) return { status: 'unchanged' }
  await api.call(call, scope, signal)
  if (isReport) reportDedup.recordSent(key, body, now)
  return { status: 'done' }
}

interface ReportBody {
  readonly conditions?: readonly { readonly type?: unknown; readonly status?: unknown }[]
}

/** A report by which the record goes, while objects are there, is not sent: ADAPTER-70. @throws TaskError */
const refuseEarlyEnd = (body: string, remaining: readonly string[]): void => {
  const { conditions } = parseReport(body)
  if (!Array.isArray(conditions)) return
  const says = (type: string, status: string) =>
    conditions.some((condition) => condition?.type === type && condition?.status === status)
  const opens = says('Finalized', 'True') || (says('Applied', 'False') && says('Health', 'True'))
  if (opens)
    throw new TaskError(
      'ReportTooEarly',
      `the report says that everything is gone, but ${remaining.join(', ')} is there`,
    )
}

const parseReport = (body: string): ReportBody => {
  try {
    return (JSON.parse(body) ?? {}) as ReportBody
  } catch {
    return {}
  }
}
