/**
 * One run of a task for one HyperFleet resource.
 *
 *   event ─► params ─► preconditions ─► apply | delete ─► payloads ─► post actions, or the standard report
 *              │            │                │                │             │
 *              └────────────┴──── a failure ─┴────────────────┴─────────────┴──► Health=False is reported, whatever failed
 *
 * ADAPTER-1.
 */

import type { RunStatus, Trace, TracedRequest } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { ReconcileEvent } from '../events/reconcile-event.ts'
import type { Json, JsonObject, Task } from '../task/task.ts'
import { NothingToDoError } from './api-reader.ts'
import { decideMode } from './phases/mode.ts'
import { readParams } from './phases/params.ts'
import { checkPreconditions } from './phases/preconditions.ts'
import { Redactor } from './redactor.ts'
import { reportOutcome } from './report.ts'
import { applyResources } from './resources/apply.ts'
import { deleteResources, observeOnly } from './resources/delete.ts'
import type { RunContext } from './run-context.ts'
import { RunState } from './run-state.ts'

export interface RunOptions {
  readonly task: Task
  readonly event: ReconcileEvent
  /** `config` of expressions. */
  readonly config: JsonObject
  /** Environment variables that tasks may read. */
  readonly environment: Readonly<Record<string, string>>
  readonly context: RunContext
  /** Whether the task's selector selects a resource. Default: it selects all. */
  readonly isSelected?: (resource: JsonObject) => boolean
  /** Requests of the run, added while it goes on. */
  readonly requests: readonly TracedRequest[]
  /** Knows the secrets that are there before the run. */
  readonly redactor?: Redactor
}

export interface RunResult {
  readonly trace: Trace
  /** The API has the report, or the resource is gone. Otherwise the event has to be delivered again: ADAPTER-18. */
  readonly isReported: boolean
  /** Resources that a deletion still waits for. */
  readonly remaining: readonly string[]
}

/** @throws the signal's reason when the run was aborted */
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
    const { isReported, report } = await reportOutcome(state, remaining, context)
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
  isSelected: (resource: JsonObject) => boolean,
): Promise<readonly string[]> => {
  await readParams(state, context)
  if (state.resource !== undefined && !isSelected(state.resource))
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
