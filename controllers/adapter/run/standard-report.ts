/**
 * The standard report: what the API gets when a task has no post actions of its own, and when these can't be run (ADAPTER-8).
 * ADAPTER-46 says when it lets the record go. The Go API reads `Finalized`, with the Go adapter's reasons.
 */

import type { Mode, TracedFailure } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import { type Readiness, readinessOf } from '#operator/model/readiness.ts'
import type { JsonObject } from '../task/task.ts'
import { type LeftObject, MAX_LEFT_OBJECTS } from './resources/left-objects.ts'

export interface Outcome {
  readonly adapter: { readonly name: string; readonly version: string }
  readonly generation: number
  /** Undefined when the run did not get so far. */
  readonly mode: Mode | undefined
  readonly failures: readonly TracedFailure[]
  /** Why nothing was applied or deleted. */
  readonly skipReason: string | undefined
  /** All resources of the task, and the objects of those that are there. */
  readonly expected: readonly string[]
  readonly objects: Readonly<Record<string, JsonObject>>
  /** Those that a deletion still waits for, and what each says about it. */
  readonly remaining: readonly { readonly name: string; readonly message: string }[]
  /** The objects of these. */
  readonly left: readonly LeftObject[]
}

interface ReportedCondition {
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
}

/** @param now when the run looked at things */
export const buildStandardReport = (outcome: Outcome, now: Date): JsonObject => {
  const { adapter, generation } = outcome
  const observed = {
    Applied: appliedCondition(outcome),
    Available: availableCondition(outcome),
    Health: healthCondition(outcome),
  }
  const conditions = { ...observed, Finalized: finalizedCondition(outcome, observed.Applied, observed.Health) }
  return {
    adapter: adapter.name,
    observed_generation: generation,
    observed_time: now.toISOString(),
    conditions: Object.entries(conditions).map(([type, { status, reason, message }]) => ({
      type,
      status,
      reason,
      message: message.slice(0, MAX_MESSAGE_CHARS),
    })),
    ...(outcome.left.length > 0 && { data: { remaining: outcome.left.slice(0, MAX_LEFT_OBJECTS) } }),
  }
}

/** Characters of a message: it is for people; the trace has the rest. */
const MAX_MESSAGE_CHARS = 1_000

const healthCondition = ({ failures, skipReason, mode, remaining }: Outcome): ReportedCondition => {
  const [first] = failures
  if (first !== undefined) {
    const more = failures.length > 1 ? ` (and ${failures.length - 1} more)` : ''
    const where = first.step === '' ? first.phase : `${first.phase}, ${first.step}`
    return { status: 'False', reason: first.reason, message: `${where}: ${first.message}${more}` }
  }
  // ADAPTER-44.
  if (mode === 'delete' && skipReason !== undefined && remaining.length > 0)
    return { status: 'False', reason: 'PreconditionNotMet', message: skipReason }
  return { status: 'True', reason: 'Healthy', message: 'the adapter did what it could' }
}

const appliedCondition = ({
  mode,
  failures,
  skipReason,
  expected: wanted,
  objects,
  remaining,
}: Outcome): ReportedCondition => {
  if (mode === undefined)
    return {
      status: 'Unknown',
      reason: failures[0]?.reason ?? 'NotLooked',
      message: 'the resources were not looked at',
    }
  if (mode === 'delete') {
    if (remaining.length === 0) return { status: 'False', reason: 'Deleted', message: 'everything is deleted' }
    const list = remaining.map(({ name, message }) => (message === '' ? name : `${name}: ${message}`))
    return { status: 'True', reason: 'Deleting', message: `still there: ${list.join('; ')}` }
  }
  // ADAPTER-70: the API wants it deleted, and the task did not look. The record must not go.
  if (remaining.length > 0 && skipReason !== undefined)
    return { status: 'True', reason: 'PreconditionNotMet', message: `still there: ${names(remaining)}; ${skipReason}` }
  if (skipReason !== undefined) return { status: 'False', reason: 'PreconditionNotMet', message: skipReason }
  const missing = wanted.filter((name) => objects[name] === undefined)
  if (missing.length > 0 && remaining.length > 0)
    return { status: 'True', reason: failures[0]?.reason ?? 'NotApplied', message: `still there: ${names(remaining)}` }
  return missing.length === 0
    ? { status: 'True', reason: 'Applied', message: 'everything is applied' }
    : { status: 'False', reason: failures[0]?.reason ?? 'NotApplied', message: `not there: ${missing.join(', ')}` }
}

const names = (remaining: Outcome['remaining']): string => remaining.map(({ name }) => name).join(', ')

const availableCondition = ({ mode, failures, skipReason, objects, remaining }: Outcome): ReportedCondition => {
  if (mode === undefined)
    return {
      status: 'Unknown',
      reason: failures[0]?.reason ?? 'NotLooked',
      message: 'the resources were not looked at',
    }
  if (mode === 'delete') {
    const reason = remaining.length === 0 ? 'Deleted' : 'Deleting'
    return { status: 'False', reason, message: 'the resource is being deleted' }
  }
  if (skipReason !== undefined) return { status: 'Unknown', reason: 'PreconditionNotMet', message: skipReason }
  const [failure] = failures
  if (failure !== undefined) return { status: 'False', reason: failure.reason, message: failure.message }
  return leastReady(Object.values(objects).map(readinessOf))
}

const leastReady = (all: readonly Readiness[]): ReportedCondition => {
  const one = all.find(({ available }) => available === 'False') ?? all.find(({ available }) => available === 'Unknown')
  return one === undefined
    ? { status: 'True', reason: 'Available', message: 'everything is fit for use' }
    : { status: one.available, reason: one.reason, message: one.message }
}

/** Whether the record may go. */
const finalizedCondition = (
  { mode }: Outcome,
  appliedSaid: ReportedCondition,
  healthSaid: ReportedCondition,
): ReportedCondition => {
  if (mode !== 'delete') return { status: 'False', reason: 'NotDeleting', message: 'the resource is not being deleted' }
  if (healthSaid.status !== 'True') return { status: 'False', reason: 'AdapterUnhealthy', message: healthSaid.message }
  return appliedSaid.status === 'False'
    ? { status: 'True', reason: 'CleanupConfirmed', message: 'everything is deleted' }
    : { status: 'False', reason: 'CleanupInProgress', message: appliedSaid.message }
}
