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
import { isGone, NoConcernError } from './api-reader.ts'
import { modeOf } from './phases/mode.ts'
import { readParams } from './phases/params.ts'
import { buildPayloads } from './phases/payloads.ts'
import { runActions } from './phases/post-actions.ts'
import { checkPreconditions } from './phases/preconditions.ts'
import { Redactor } from './redactor.ts'
import { applyResources } from './resources/apply.ts'
import { lookOnly, removeResources } from './resources/delete.ts'
import type { Surroundings } from './run-context.ts'
import { Progress } from './run-state.ts'
import { standardReport } from './standard-report.ts'

export interface RunOptions {
  readonly task: Task
  readonly event: ReconcileEvent
  /** `config` of expressions. */
  readonly config: JsonObject
  /** Environment variables that tasks may read. */
  readonly environment: Readonly<Record<string, string>>
  readonly surroundings: Surroundings
  /** Whether the task is concerned with a resource. Default: with all of them. */
  readonly concerns?: (resource: JsonObject) => boolean
  /** Requests of the run, noted while it goes on. */
  readonly requests: readonly TracedRequest[]
  /** What nobody may see, as far as it is known before the run. */
  readonly veil?: Redactor
}

export interface RunResult {
  readonly trace: Trace
  /** The API knows what the run found, or there is nobody left to tell. Otherwise the event has to come again. */
  readonly told: boolean
  /** Resources that a deletion still waits for. */
  readonly remaining: readonly string[]
}

/** @throws the signal's reason when the run was ended from outside */
export const run = async (options: RunOptions): Promise<RunResult> => {
  const { task, event, config, environment, surroundings, requests, veil = new Redactor() } = options
  const { clock } = surroundings
  const startedAt = clock.now()
  const progress = new Progress({ task, event, config, environment, veil })
  const end = (
    status: RunStatus,
    told: boolean,
    rest: { readonly report?: Json; readonly remaining?: readonly string[] },
  ) => ({
    trace: traceOf(progress, status, requests, startedAt, clock.now(), rest.report),
    told,
    remaining: rest.remaining ?? [],
  })
  try {
    const remaining = await work(progress, surroundings, options.concerns ?? (() => true))
    progress.isDeleted = progress.mode === 'delete' && remaining.length === 0
    const { told, report } = await tell(progress, remaining, surroundings)
    const status = progress.failed ? 'failed' : progress.skipReason === undefined ? 'success' : 'skipped'
    return end(status, told, { report, remaining })
  } catch (error) {
    if (!(error instanceof NoConcernError)) throw error
    progress.skipReason = error.message
    return end('skipped', true, {})
  }
}

/** Phases 1 to 3. @returns what a deletion still waits for */
const work = async (
  progress: Progress,
  surroundings: Surroundings,
  concerns: (resource: JsonObject) => boolean,
): Promise<readonly string[]> => {
  await readParams(progress, surroundings)
  if (progress.resource !== undefined && !concerns(progress.resource))
    throw new NoConcernError('the labels of the resource are not those that the task selects')
  if (progress.failed) return []
  await checkPreconditions(progress, surroundings)
  if (progress.failed) return []
  try {
    progress.mode = modeOf(progress)
  } catch (error) {
    progress.fail('preconditions', 'when_deleting', error)
    return []
  }
  if (progress.mode === 'apply') {
    if (progress.skipReason === undefined) await applyResources(progress, surroundings)
    return []
  }
  return progress.skipReason === undefined ? removeResources(progress, surroundings) : lookOnly(progress, surroundings)
}

interface Told {
  readonly told: boolean
  readonly report?: Json
}

/** Phases 4 and 5. What the task can't say itself is said by the standard report. */
const tell = async (progress: Progress, remaining: readonly string[], surroundings: Surroundings): Promise<Told> => {
  const hasParams = !progress.failures.some(({ phase }) => phase === 'params')
  if (progress.task.actions.length > 0 && hasParams) {
    buildPayloads(progress)
    if (!progress.failures.some(({ phase }) => phase === 'payloads')) {
      const told = await runActions(progress, surroundings)
      if (!progress.failures.some(({ phase }) => phase === 'post_actions')) return { told }
    }
  }
  return sendReport(progress, remaining, surroundings)
}

const sendReport = async (
  progress: Progress,
  remaining: readonly string[],
  { api, outbox, clock, signal, log }: Surroundings,
): Promise<Told> => {
  if (api.path === undefined) return { told: true }
  const now = clock.now()
  const report = standardReport(outcomeOf(progress, remaining), now)
  const key = `${progress.event.data.id}/`
  const body = JSON.stringify(report)
  // That everything is deleted is said to each event anew: were it lost once, the record would wait for it.
  if (!progress.isDeleted && outbox.isRepetition(key, body, now.getTime())) return { told: true, report }
  try {
    await api.report(report, signal)
    outbox.sent(key, body, now.getTime())
    return { told: true, report }
  } catch (error) {
    if (isGone(error)) return { told: true, report }
    progress.fail('post_actions', 'report', error)
    log.warn('the report was not taken', { problem: progress.failures.at(-1)?.message })
    return { told: false, report }
  }
}

/** What is not there because it is not meant to be. */
const ABSENT_ON_PURPOSE: readonly ResourceAction[] = ['skipped', 'deleted', 'gone', 'leaving']

const outcomeOf = (progress: Progress, remaining: readonly string[]) => {
  const { task, steps, mode, failures, skipReason, generation, resources } = progress
  const stepOf = (name: string) => steps.find((step) => step.name === name)
  const isWanted = (name: string) => {
    const action = stepOf(name)?.action
    return action === undefined || !ABSENT_ON_PURPOSE.includes(action)
  }
  const names = task.resources.map(({ name }) => name)
  return {
    adapter: task.adapter,
    generation,
    mode,
    failures,
    skipReason,
    wanted: names.filter(isWanted),
    objects: Object.fromEntries(
      names.flatMap((name) => (resources[name] === undefined ? [] : [[name, resources[name] as JsonObject]])),
    ),
    remaining: remaining.map((name) => ({ name, message: stepOf(name)?.message ?? '' })),
  }
}

const traceOf = (
  progress: Progress,
  status: RunStatus,
  requests: readonly TracedRequest[],
  startedAt: Date,
  endedAt: Date,
  report: Json | undefined,
): Trace => {
  const { event, mode, skipReason, failures, params, preconditions, steps, payloads, actions, veil } = progress
  return veil.document({
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
