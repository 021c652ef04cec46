/** Phase 5: runs the task's post actions. The first failure ends it. ADAPTER-9, ADAPTER-10. */
import { messageOf } from '#operator/client/errors.ts'
import { RequestError } from '../../http/client.ts'
import type { PostAction } from '../../task/task.ts'
import { isGone } from '../api-reader.ts'
import { logStep } from '../log-step.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { isTrue } from './preconditions.ts'

/**
 * Runs them in order.
 * @returns whether the API got the report: false when an action that reports failed
 * @throws the signal's reason
 */
export const runActions = async (state: RunState, context: RunContext): Promise<boolean> => {
  for (const action of state.task.postActions) {
    try {
      const report = await perform(action, state, context)
      state.actions.push({ name: action.name, ...report })
    } catch (error) {
      // The resource is gone meanwhile, and needs no report.
      if (isGone(error)) {
        state.actions.push({ name: action.name, status: 'skipped', message: error.message })
        return true
      }
      state.fail('post_actions', action.name, error)
      state.actions.push({ name: action.name, status: 'failed', message: messageOf(error) })
      return error instanceof RequestError && error.status !== undefined && error.status < 500
    }
  }
  return true
}

type ActionOutcome = { readonly status: 'done' | 'skipped' | 'unchanged'; readonly message?: string }

const perform = async (action: PostAction, state: RunState, context: RunContext): Promise<ActionOutcome> => {
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
  const key = `${state.event.data.id}/${action.name}`
  const now = clock.now().getTime()
  if (isReport && !state.isDeleted && reportDedup.isRepeat(key, body, now)) return { status: 'unchanged' }
  await api.call(call, scope, signal)
  if (isReport) reportDedup.recordSent(key, body, now)
  return { status: 'done' }
}
