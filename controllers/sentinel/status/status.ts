/** What a Sentinel knows of itself, as the status of its SentinelConfig. Pure: the writer is daemon.ts. */
import type { SentinelConfigStatus } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import {
  type Condition,
  type ConditionInput,
  type KstatusInput,
  kstatusConditions,
  withConditions,
} from '#operator/model/conditions.ts'
import { formatDuration } from '#operator/model/duration.ts'
import type { DeepPartial } from '#operator/model/resource.ts'
import type { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import type { Counts } from '../decision/schedule.ts'
import type { OwnershipFindings } from '../sharding/ownership.ts'
import type { Source } from '../source/source.ts'

export interface SentinelState {
  /** metadata.generation of the spec that was looked at last. */
  readonly generation: number | undefined
  /** What is wrong with that spec; then an older one may be running. */
  readonly specProblem: string | undefined
  /** Undefined while no spec runs. */
  readonly running: { readonly shard: string; readonly resourceType: string; readonly pollInterval: number } | undefined
  /** Undefined before the API answered. */
  readonly source: Source['kind'] | undefined
  /** The whole shard was read once. */
  readonly isComplete: boolean
  /** What the last request for resources failed with; undefined when it worked. */
  readonly fetchFailure: HyperFleetError | undefined
  /** What the last pulse failed with; undefined when it was taken. */
  readonly eventFailure: HyperFleetError | undefined
  readonly counts: Counts
  readonly pulses: number
  /** Until when everything is known, in milliseconds since the epoch. */
  readonly coveredUntil: number | undefined
  /** Undefined before the first check. */
  readonly findings: OwnershipFindings | undefined
}

type ReadySummary = Omit<KstatusInput, 'observedGeneration'>

/** How the Sentinel stands, the gravest first. */
const summarize = (now: SentinelState): ReadySummary => {
  const { specProblem, running, fetchFailure, eventFailure } = now
  if (specProblem !== undefined) {
    const instead =
      running === undefined ? 'nothing is pulsed until it is corrected' : 'the last good spec keeps running'
    return { type: 'Stalled', reason: 'InvalidSpec', message: `${specProblem}; ${instead}` }
  }
  if (fetchFailure !== undefined) return summarizeFailure(fetchFailure, running)
  if (eventFailure !== undefined)
    return {
      type: 'Reconciling',
      reason: 'EventsRefused',
      message: `${eventFailure.message}; pulses are sent again`,
    }
  if (!now.isComplete) return { type: 'Reconciling', reason: 'Starting', message: 'reading the resources of the shard' }
  return now.source === 'Watch'
    ? { type: 'Ready', reason: 'Watching', message: 'follows the watch stream of the API' }
    : { type: 'Ready', reason: 'Polling', message: 'reads the API at every poll interval' }
}

const summarizeFailure = (failure: HyperFleetError, running: SentinelState['running']): ReadySummary => {
  const again = running === undefined ? 'soon' : `every ${formatDuration(running.pollInterval)}`
  if (failure.reason === 'UnknownResourceType')
    return {
      type: 'Stalled',
      reason: failure.reason,
      message: `the API serves no ${running?.resourceType}: correct spec.resourceType or the API's configuration (${failure.message})`,
    }
  return { type: 'Reconciling', reason: failure.reason, message: `${failure.message}; tried again ${again}` }
}

const ownershipConditions = (findings: OwnershipFindings, observedGeneration: number | undefined): ConditionInput[] => {
  const claim = (type: string, problem: string | undefined, yes: string, no: string): ConditionInput => ({
    type,
    status: problem === undefined ? 'False' : 'True',
    reason: problem === undefined ? no : yes,
    message: problem ?? '',
    ...(observedGeneration !== undefined && { observedGeneration }),
  })
  const gap =
    findings.unowned === undefined
      ? []
      : [claim('Unowned', findings.unowned.problem, 'ResourcesWithoutShard', 'AllOwned')]
  return [claim('Overlapping', findings.overlap, 'SelectorsOverlap', 'Disjoint'), ...gap]
}

/** A merge patch of the status; null removes. */
export const buildStatus = (
  state: SentinelState,
  before: readonly Condition[] | undefined,
  now: Date,
): DeepPartial<SentinelConfigStatus> => {
  const { generation, running, counts, coveredUntil, fetchFailure, eventFailure, findings } = state
  const claims = [
    ...kstatusConditions({ ...summarize(state), observedGeneration: generation }),
    ...(findings === undefined ? [] : ownershipConditions(findings, generation)),
  ]
  return {
    observedGeneration: generation ?? null,
    conditions: withConditions(before, claims, now) as SentinelConfigStatus['conditions'] & {},
    shard: running?.shard ?? null,
    source: state.source ?? null,
    lastPollTime: coveredUntil === undefined ? null : new Date(coveredUntil).toISOString(),
    resources: counts.ready + counts.notReady,
    ready: counts.ready,
    notReady: counts.notReady,
    pulses: state.pulses,
    lastError: (fetchFailure ?? eventFailure)?.message ?? null,
  }
}
