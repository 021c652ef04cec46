/** Phase 5: sends what the task has to tell. The first failure ends it. */
import { RequestError } from '../../http/client.ts'
import type { Action } from '../../task/task.ts'
import { isGone } from '../api-reader.ts'
import { says } from '../log-step.ts'
import { messageOf } from '../resources/apply.ts'
import type { Surroundings } from '../run-context.ts'
import type { Progress } from '../run-state.ts'
import { isTrue } from './preconditions.ts'

/**
 * Runs them in order.
 * @returns whether the API was told: false when an action that had to tell it failed
 * @throws the signal's reason
 */
export const runActions = async (progress: Progress, surroundings: Surroundings): Promise<boolean> => {
  for (const action of progress.task.actions) {
    try {
      const said = await perform(action, progress, surroundings)
      progress.actions.push({ name: action.name, ...said })
    } catch (error) {
      // The resource went meanwhile: nobody is left to be told.
      if (isGone(error)) {
        progress.actions.push({ name: action.name, status: 'skipped', message: error.message })
        return true
      }
      progress.fail('post_actions', action.name, error)
      progress.actions.push({ name: action.name, status: 'failed', message: messageOf(error) })
      return error instanceof RequestError && error.status !== undefined && error.status < 500
    }
  }
  return true
}

type Said = { readonly status: 'done' | 'skipped' | 'unchanged'; readonly message?: string }

const perform = async (action: Action, progress: Progress, surroundings: Surroundings): Promise<Said> => {
  const { when, call, log, payloads } = action
  const { scope } = progress
  if (when !== undefined && !isTrue(when.text, when.evaluate(scope)))
    return { status: 'skipped', message: `${when.text} is false` }
  const skipped = payloads.find((name) => progress.payloads.some((payload) => payload.name === name && payload.skipped))
  if (skipped !== undefined) return { status: 'skipped', message: `its payload ${skipped} was not built` }
  says(log, scope, { veil: progress.veil, log: surroundings.log })
  if (call === undefined) return { status: 'done' }
  const { api, outbox, clock, signal } = surroundings
  const body = call.body?.render(scope)
  const isReport = body !== undefined && call.method !== 'GET' && /\/statuses\/?$/.test(call.url.render(scope))
  const key = `${progress.event.data.id}/${action.name}`
  const now = clock.now().getTime()
  if (isReport && !progress.isDeleted && outbox.isRepetition(key, body, now)) return { status: 'unchanged' }
  await api.call(call, scope, signal)
  if (isReport) outbox.sent(key, body, now)
  return { status: 'done' }
}
