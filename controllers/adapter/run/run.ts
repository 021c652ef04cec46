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
import { monotonic } from '#operator/model/clock.ts'
import { readinessOf } from '#operator/model/readiness.ts'
import type { ReconcileEvent } from '../events/reconcile-event.ts'
import type { Json, JsonObject, Task } from '../task/task.ts'
import { type Absence, NothingToDoError } from './api-reader.ts'
import { leaveResource, saveInventory } from './leave-resource.ts'
import { decideMode, isMarkedDeleted } from './phases/mode.ts'
import { readParams } from './phases/params.ts'
import { checkPreconditions } from './phases/preconditions.ts'
import { readResource } from './phases/resource.ts'
import { Redactor } from './redactor.ts'
import { reportOutcome } from './report.ts'
import { applyResources } from './resources/apply.ts'
import { isPolled } from './resources/awaited-pods.ts'
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
  /** Objects of HTTP services that say that they are still at work: nothing tells when they are done. */
  readonly working: readonly string[]
  /** A workload has no pod that runs, and nothing tells why, or when that changes. */
  readonly awaitsPods: boolean
  /** The API says that the resource is being deleted, whatever the task makes of it. */
  readonly isDeleting: boolean
}

/** @throws the signal's reason when the run was aborted */
export const run = async (options: RunOptions): Promise<RunResult> => {
  const { task, event, config, environment, context, requests, redactor = new Redactor() } = options
  const { clock } = context
  const startedAt = clock.now()
  const begun = monotonic(clock)
  const state = new RunState({ task, event, config, environment, redactor })
  const end = (
    status: RunStatus,
    isReported: boolean,
    rest: { readonly report?: Json; readonly remaining?: readonly string[] },
  ) => ({
    trace: buildTrace(state, status, requests, { startedAt, duration: monotonic(clock) - begun }, rest.report),
    isReported,
    remaining: rest.remaining ?? [],
    working: state.mode === 'apply' ? workingServices(state) : [],
    awaitsPods: state.mode === 'apply' && awaitsPods(state, clock.now()),
    isDeleting: isMarkedDeleted(state.resource),
  })
  const leave = async (absence: Absence) => {
    const { remaining, isDone } = await leaveResource(absence, state, context)
    return end(state.failed ? 'failed' : state.mode === undefined ? 'skipped' : 'success', isDone, { remaining })
  }
  try {
    const remaining = await runPhases(state, context, options.isSelected ?? (() => true))
    state.isDeleted = state.mode === 'delete' && remaining.length === 0
    // A task may delete all of it while the resource lives, which has the task's report then: ADAPTER-79.
    const isFinal = state.isDeleted && (state.resource === undefined || isMarkedDeleted(state.resource))
    // Before it is reported: were it forgotten, the record would wait for this adapter once the task does not select it.
    if (context.selection !== undefined && context.inventory.mark === undefined && !isFinal)
      await state.attempt('resources', () => context.inventory.intend([], context.signal))
    context.released?.delete(event.data.id)
    const saving = isFinal ? undefined : saveInventory(context)
    const [{ isReported, report, absence }] = await Promise.all([reportOutcome(state, remaining, context), saving])
    // Not before: without it labels would say what the task's was. ADAPTER-115.
    if (isFinal && isReported) await saveInventory(context, true)
    if (absence === 'gone') return await leave(absence)
    const status = state.failed ? 'failed' : state.skipReason === undefined ? 'success' : 'skipped'
    return end(status, isReported, { report, remaining })
  } catch (error) {
    if (!(error instanceof NothingToDoError)) throw error
    state.skipReason = error.message
    return leave(error.absence)
  }
}

/** Phases 1 to 3. @returns what a deletion still waits for */
const runPhases = async (
  state: RunState,
  context: RunContext,
  isSelected: (resource: JsonObject) => boolean,
): Promise<readonly string[]> => {
  await readResource(state, context, isSelected)
  // Also where the run ends before it comes to these objects: another task would delete them. ADAPTER-124
  const isKept = !state.failed && !isMarkedDeleted(state.resource)
  if (isKept && context.inventory.resumeAll())
    await state.attempt('resources', () => context.inventory.save(context.signal))
  if (!state.failed) await readParams(state, context)
  if (state.failed) return recordedNames(state, context)
  await checkPreconditions(state, context)
  if (state.failed) return recordedNames(state, context)
  try {
    state.mode = decideMode(state)
  } catch (error) {
    state.fail('preconditions', 'when_deleting', error)
    return recordedNames(state, context)
  }
  if (state.mode === 'apply') {
    if (state.skipReason === undefined) await applyResources(state, context)
    return recordedNames(state, context)
  }
  return state.skipReason === undefined ? deleteResources(state, context) : observeOnly(state, context)
}

/**
 * What a run that deletes nothing leaves behind of a resource which the API wants to be deleted: as far as the task knows, all that it
 * has applied. Nothing while the resource lives, because nothing waits for it then.
 */
const recordedNames = ({ resource }: RunState, { inventory }: RunContext): readonly string[] =>
  isMarkedDeleted(resource) ? [...new Set([...inventory.entries.values()].map((entry) => entry.resource))] : []

const workingServices = ({ task, resources }: RunState): readonly string[] =>
  task.resources
    .filter(({ name, transport }) => transport.kind === 'http' && resources[name] !== undefined)
    .map(({ name }) => name)
    .filter((name) => readinessOf(resources[name] as JsonObject).available === 'Unknown')

/** The API keeps Ready what is Unknown, and sends no pulse then; events are not watched. CLUSTER-95. */
const awaitsPods = ({ task, resources }: RunState, now: Date): boolean =>
  task.resources.some(({ name, transport }) => {
    const object = resources[name] as JsonObject | undefined
    return transport.kind !== 'http' && object !== undefined && isPolled(object, now)
  })

const buildTrace = (
  state: RunState,
  status: RunStatus,
  requests: readonly TracedRequest[],
  { startedAt, duration }: { readonly startedAt: Date; readonly duration: number },
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
    duration: Math.round(duration),
  })
}
