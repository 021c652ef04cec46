/**
 * One run of a task for one HyperFleet resource.
 *
 *   event ─► params ─► preconditions ─► apply | delete ─► payloads ─► post actions, or the standard report
 *              │            │                │                │             │
 *              └────────────┴──── a failure ─┴────────────────┴─────────────┴──► Health=False is reported, whatever failed
 *
 * Design page 50, A run.
 */

import type { ResourceAction, RunStatus, Trace, TracedRequest } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { ReconcileEvent } from '../events/reconcile-event.ts'
import type { Json, JsonObject, Task } from '../task/task.ts'
import { isGone, NothingToDoError } from './api-reader.ts'
import { decideMode } from './phases/mode.ts'
import { readParams } from './phases/params.ts'
import { buildPayloads } from './phases/payloads.ts'
import { runActions } from './phases/post-actions.ts'
import { checkPreconditions } from './phases/preconditions.ts'
import { Redactor } from './redactor.ts'
import { applyResources } from './resources/apply.ts'
import { deleteResources, observeOnly } from './resources/delete.ts'
import type { RunContext } from './run-context.ts'
import { RunState } from './run-state.ts'
import { buildStandardReport } from './standard-report.ts'

export interface RunOptions {
  readonly task: Task
  readonly event: ReconcileEvent
  /** `config` of expressions. */
  readonly config: JsonObject
  /** Environment variables that tasks may read. */
  readonly environment: Readonly<Record<string, string>>
  readonly context: RunContext
  /** Whether the task is concerned with a resource. Default: with all of them. */
  readonly isSelected?: (resource: JsonObject) => boolean
  /** Requests of the run, noted while it goes on. */
  readonly requests: readonly TracedRequest[]
  /** What nobody may see, as far as it is known before the run. */
  readonly redactor?: Redactor
}

export interface RunResult {
  readonly trace: Trace
  /** The API knows what the run found, or there is nobody left to tell. Otherwise the event has to come again. */
  readonly isReported: boolean
  /** Resources that a deletion still waits for. */
  readonly remaining: readonly string[]
}

/** @throws the signal's reason when the run was ended from outside */
export const run = async (options: RunOptions): Promise<RunResult> => {
  const { task, event, config, environment, context, requests, redactor = new Redactor() } = options
  const { clock } = context
  const startedAt = clock.now()
  const state = new RunState({ task, event, config, environment, redactor })
  const end = (
    status: RunStatus,
    isReported: boolean,
    rest: { readonly report?: Json; readonly remaining?: readonly string[] },
  ) => ({
    trace: buildTrace(state, status, requests, startedAt, clock.now(), rest.report),
    isReported,
    remaining: rest.remaining ?? [],
  })
  try {
    const remaining = await runPhases(state, context, options.isSelected ?? (() => true))
    state.isDeleted = state.mode === 'delete' && remaining.length === 0
    const { isReported, report } = await sendOutcome(state, remaining, context)
    const status = state.failed ? 'failed' : state.skipReason === undefined ? 'success' : 'skipped'
    return end(status, isReported, { report, remaining })
  } catch (error) {
    if (!(error instanceof NothingToDoError)) throw error
    state.skipReason = error.message
    return end('skipped', true, {})
  }
}

/** Phases 1 to 3. @returns what a deletion still waits for */
const runPhases = async (
  state: RunState,
  context: RunContext,
  concerns: (resource: JsonObject) => boolean,
): Promise<readonly string[]> => {
  await readParams(state, context)
  if (state.resource !== undefined && !concerns(state.resource))
    throw new NothingToDoError('the labels of the resource are not those that the task selects')
  if (state.failed) return []
  await checkPreconditions(state, context)
  if (state.failed) return []
  try {
    state.mode = decideMode(state)
  } catch (error) {
    state.fail('preconditions', 'when_deleting', error)
    return []
  }
  if (state.mode === 'apply') {
    if (state.skipReason === undefined) await applyResources(state, context)
    return []
  }
  return state.skipReason === undefined ? deleteResources(state, context) : observeOnly(state, context)
}

interface ReportResult {
  readonly isReported: boolean
  readonly report?: Json
}

/** Phases 4 and 5. What the task can't say itself is said by the standard report. */
const sendOutcome = async (
  state: RunState,
  remaining: readonly string[],
  context: RunContext,
): Promise<ReportResult> => {
  const hasParams = !state.failures.some(({ phase }) => phase === 'params')
  if (state.task.postActions.length > 0 && hasParams) {
    buildPayloads(state)
    if (!state.failures.some(({ phase }) => phase === 'payloads')) {
      const isReported = await runActions(state, context)
      if (!state.failures.some(({ phase }) => phase === 'post_actions')) return { isReported }
    }
  }
  return sendReport(state, remaining, context)
}

const sendReport = async (
  state: RunState,
  remaining: readonly string[],
  { api, reportDedup, clock, signal, log }: RunContext,
): Promise<ReportResult> => {
  if (api.path === undefined) return { isReported: true }
  const now = clock.now()
  const report = buildStandardReport(buildOutcome(state, remaining), now)
  const key = `${state.event.data.id}/`
  const body = JSON.stringify(report)
  // That everything is deleted is said to each event anew: were it lost once, the record would wait for it.
  if (!state.isDeleted && reportDedup.isRepeat(key, body, now.getTime())) return { isReported: true, report }
  try {
    await api.report(report, signal)
    reportDedup.recordSent(key, body, now.getTime())
    return { isReported: true, report }
  } catch (error) {
    if (isGone(error)) return { isReported: true, report }
    state.fail('post_actions', 'report', error)
    log.warn('the report was not taken', { problem: state.failures.at(-1)?.message })
    return { isReported: false, report }
  }
}

/** What is not there because it is not meant to be. */
const INTENTIONALLY_ABSENT: readonly ResourceAction[] = ['skipped', 'deleted', 'gone', 'leaving']

const buildOutcome = (state: RunState, remaining: readonly string[]) => {
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
  }
}

const buildTrace = (
  state: RunState,
  status: RunStatus,
  requests: readonly TracedRequest[],
  startedAt: Date,
  endedAt: Date,
  report: Json | undefined,
): Trace => {
  const { event, mode, skipReason, failures, params, preconditions, steps, payloads, actions, redactor } = state
  return redactor.redactDocument({
    event: event.data,
    status,
    mode,
    ...(skipReason !== undefined && { skipReason }),
    failures,
    params,
    preconditions,
    resources: steps,
    payloads,
    actions,
    requests,
    ...(report !== undefined && { report }),
    startedAt: startedAt.toISOString(),
    duration: endedAt.getTime() - startedAt.getTime(),
  })
}
