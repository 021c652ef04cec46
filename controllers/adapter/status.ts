/** What a task's worker knows of itself, as the status of its AdapterTask. Pure: the writer is daemon/status-writer.ts. */

import type { AdapterRun } from '#apis/hyperfleet.redhat.com/adapter-run.ts'
import type { AdapterTaskStatus } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import {
  type Condition,
  type ConditionInput,
  type KstatusInput,
  kstatusConditions,
  withConditions,
} from '#operator/model/conditions.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import type { StatsSummary } from './daemon/task-stats.ts'
import type { RequiredCondition } from './required/compare-required.ts'

export interface StatusInput {
  /** metadata.generation of the spec that was looked at last. */
  readonly generation: number | undefined
  /** What is wrong with the task, and what is not done because of it. */
  readonly invalid: { readonly message: string; readonly blocks: 'everything' | 'deletions' } | undefined
  readonly suspended: boolean
  /** Why nothing is worked on for a while; undefined when something is. */
  readonly failure: string | undefined
  /** The source of events has answered. */
  readonly connected: boolean
  /** Why events can't be taken; undefined when they can. */
  readonly sourceProblem: string | undefined
  /** Why the HyperFleet API takes no reports of the task, or gives it no events; undefined when it does. */
  readonly refusal: string | undefined
  /** Kinds whose changes are not seen, with why. */
  readonly unwatchedKinds: ReadonlyMap<string, string>
  /** In the server's words, why every run is refused; undefined when not all are. */
  readonly forbidden: string | undefined
  /** Deletions that no person asked for, and what releases them; undefined when there are none. */
  readonly held: string | undefined
  /** Whether the HyperFleet API waits for its adapter; undefined where that is not looked at. */
  readonly required: RequiredCondition | undefined
  /** What the brake let through within its window, as text; '' when nothing. */
  readonly recentDeletions: string
  /** Those of them that may not be done; `time` in ISO 8601. */
  readonly begunDeletions: NonNullable<AdapterTaskStatus['begunDeletions']>
  readonly inFlight: number
  readonly summary: StatsSummary
  /** The newest first. */
  readonly lastRuns: readonly AdapterRun[]
}

type TaskState = Omit<KstatusInput, 'observedGeneration'>

const CONSEQUENCE = {
  everything: 'nothing is done until it is corrected',
  deletions: 'nothing is deleted until it is corrected',
} as const

/** Which condition the task has; of several problems the gravest one. */
const decideState = ({
  invalid,
  suspended,
  failure,
  connected,
  sourceProblem,
  refusal,
  forbidden,
  held,
  unwatchedKinds,
}: StatusInput): TaskState => {
  if (invalid !== undefined)
    return { type: 'Stalled', reason: 'InvalidTask', message: `${invalid.message}; ${CONSEQUENCE[invalid.blocks]}` }
  if (suspended)
    return { type: 'Ready', reason: 'Suspended', message: 'no run starts while spec.suspend is true; events wait' }
  if (failure !== undefined) return { type: 'Reconciling', reason: 'BrokenOff', message: failure }
  if (refusal !== undefined) return { type: 'Stalled', reason: 'APIRefused', message: `${refusal}; retrying` }
  if (sourceProblem !== undefined)
    return { type: 'Reconciling', reason: 'EventsUnreachable', message: `${sourceProblem}; retrying` }
  if (!connected) return { type: 'Reconciling', reason: 'Connecting', message: 'connecting to the source of events' }
  if (held !== undefined) return { type: 'Stalled', reason: 'DeletionsHeld', message: held }
  if (forbidden !== undefined) {
    const remedy = 'give the ServiceAccount of the task that right: the next pulse tries again'
    return { type: 'Stalled', reason: 'Forbidden', message: `every run is refused: ${forbidden}; ${remedy}` }
  }
  const [unwatched] = unwatchedKinds
  if (unwatched !== undefined) {
    const [kind, problem] = unwatched
    const remedy = 'let the ServiceAccount of the task list and watch it; until then only events start runs'
    return {
      type: 'Ready',
      reason: 'WorkingUnwatched',
      message: `changes of ${kind} are not seen (${problem}): ${remedy}`,
    }
  }
  return { type: 'Ready', reason: 'Working', message: 'takes events' }
}

/** A merge patch of the status; null removes. */
export const buildStatus = (
  input: StatusInput,
  before: readonly Condition[] | undefined,
  now: Date,
): DeepPartial<AdapterTaskStatus> => {
  const { generation, recentDeletions, begunDeletions, inFlight, summary, lastRuns } = input
  const conditions = [
    ...kstatusConditions({ ...decideState(input), observedGeneration: generation }),
    heldCondition(input),
    ...requiredConditions(input),
  ]
  return {
    observedGeneration: generation ?? null,
    conditions: withConditions(before, conditions, now) as AdapterTaskStatus['conditions'] & {},
    ...summary,
    inFlight,
    recentDeletions: recentDeletions || null,
    begunDeletions: begunDeletions.length > 0 ? begunDeletions : null,
    lastError: summary.lastError ?? null,
    lastRuns: lastRuns.map(toLastRun),
  }
}

const heldCondition = ({ held, generation }: StatusInput): ConditionInput => ({
  type: 'DeletionsHeld',
  status: held === undefined ? 'False' : 'True',
  reason: held === undefined ? 'NothingHeld' : 'TooManyAtOnce',
  message: held ?? '',
  ...(generation !== undefined && { observedGeneration: generation }),
})

const requiredConditions = ({ required, generation }: StatusInput): readonly ConditionInput[] =>
  required === undefined
    ? []
    : [{ type: 'Required', ...required, ...(generation !== undefined && { observedGeneration: generation }) }]

/** Characters of a message: `kubectl describe` shows it, and the trace has all of it. */
const MAX_MESSAGE_CHARS = 256

const toLastRun = ({ resource, trace }: AdapterRun): LastRun => {
  const { status, mode, startedAt, failures, skipReason } = trace
  const [failure] = failures
  const message = failure === undefined ? skipReason : `${failure.phase} ${failure.step}: ${failure.message}`
  return {
    resource,
    time: startedAt,
    status,
    ...(mode !== undefined && { mode }),
    ...(message !== undefined && { message: message.slice(0, MAX_MESSAGE_CHARS) }),
  }
}

type LastRun = NonNullable<AdapterTaskStatus['lastRuns']>[number]
