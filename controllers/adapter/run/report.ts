/** Reports what a run found: by the task's post actions, or by the standard report. */
import type { ResourceAction } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { Json, JsonObject } from '../task/task.ts'
import { type Absence, absenceOf } from './api-reader.ts'
import { buildPayloads } from './phases/payloads.ts'
import { runActions } from './phases/post-actions.ts'
import { listEntriesLeft } from './resources/left-objects.ts'
import type { RunContext } from './run-context.ts'
import type { RunState } from './run-state.ts'
import { buildStandardReport } from './standard-report.ts'

export interface ReportResult {
  readonly isReported: boolean
  readonly report?: Json
  /** The API does not have the resource any more. */
  readonly absence?: Absence
}

/**
 * Phases 4 and 5: the task's own report, or the standard one (ADAPTER-8).
 * @param remaining resources that a deletion still waits for
 * @throws the signal's reason
 */
export const reportOutcome = async (
  state: RunState,
  remaining: readonly string[],
  context: RunContext,
): Promise<ReportResult> => {
  const hasParams = !state.failures.some(({ phase }) => phase === 'params')
  if (state.task.postActions.length > 0 && hasParams) {
    await buildPayloads(state)
    if (!state.failures.some(({ phase }) => phase === 'payloads')) {
      const result = await runActions(state, remaining, context)
      if (!state.failures.some(({ phase }) => phase === 'post_actions')) return result
    }
  }
  return sendReport(state, remaining, context)
}

const sendReport = async (
  state: RunState,
  remaining: readonly string[],
  { api, inventory, reportDedup, clock, signal, log }: RunContext,
): Promise<ReportResult> => {
  if (api.path === undefined) return { isReported: true }
  const now = clock.now()
  const report = buildStandardReport(buildOutcome(state, remaining, inventory), now)
  const key = `${state.event.data.id}/`
  const body = JSON.stringify(report)
  // ADAPTER-11: were the report that everything is deleted lost once, the record would wait for it for ever.
  if (!state.isDeleted && reportDedup.isRepeat(key, body, now.getTime())) return { isReported: true, report }
  try {
    await api.report(report, signal)
    reportDedup.recordSent(key, body, now.getTime())
    return { isReported: true, report }
  } catch (error) {
    if (api.isResourceGone(error)) return { isReported: true, report, absence: absenceOf(error) }
    state.fail('post_actions', 'report', error)
    log.warn('adapter: the report was not accepted, the event comes again', { problem: state.failures.at(-1)?.message })
    return { isReported: false, report }
  }
}

/** Actions after which a resource is not expected to be there. */
const INTENTIONALLY_ABSENT: readonly ResourceAction[] = ['skipped', 'deleted', 'gone', 'leaving']

const buildOutcome = (state: RunState, remaining: readonly string[], inventory: RunContext['inventory']) => {
  const { task, steps, mode, failures, skipReason, generation, resources } = state
  const stepOf = (name: string) => steps.find((step) => step.name === name)
  const isExpected = (name: string) => {
    const action = stepOf(name)?.action
    return action === undefined || !INTENTIONALLY_ABSENT.includes(action)
  }
  const names = task.resources.map(({ name }) => name)
  return {
    adapter: task.adapter,
    generation,
    mode,
    failures,
    skipReason,
    expected: names.filter(isExpected),
    objects: Object.fromEntries(
      names.flatMap((name) => (resources[name] === undefined ? [] : [[name, resources[name] as JsonObject]])),
    ),
    remaining: remaining.map((name) => ({ name, message: stepOf(name)?.message ?? '' })),
    left:
      remaining.length === 0
        ? []
        : state.redactor.redactDocument(state.left ?? listEntriesLeft(inventory.entries.values())),
  }
}
