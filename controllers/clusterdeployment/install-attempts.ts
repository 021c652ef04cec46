/**
 * How often an installation may fail. An attempt has failed when an adapter says so of it and still does after a pause; the next one
 * is another generation of the record, so that adapters begin anew (CLUSTER-5).
 */
import { type ClusterDeployment, NO_ROOM_REASONS } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { type ExponentialBackoff, exponentialDelay } from '#operator/model/outcome.ts'
import { ADAPTER_SUFFIX, type ClusterRecord, isReady, type RecordCondition } from './record/record.ts'

export interface Attempts {
  /** How many have failed. */
  readonly failed: number
  /** Which one the record should ask for. */
  readonly desired: number
  /** No further one is made. */
  readonly isStopped: boolean
  /** What adapters say is wrong with the present one; undefined when nothing is. */
  readonly failing: string | undefined
  /** Nothing is wrong but that a quota is used up: in the adapters' words. CLUSTER-23. */
  readonly quota: string | undefined
  /** When the present one counts as failed, unless its adapters think better of it. Milliseconds since the epoch. */
  readonly failsAt: number | undefined
}

export interface AttemptInput {
  readonly record: ClusterRecord
  readonly installed: boolean
  /** How many had failed before. */
  readonly failed: number
  /** undefined: as many as it takes. */
  readonly limit: number | undefined
  /** Since when the present one is failing; undefined when it was not. Milliseconds since the epoch. */
  readonly failingSince: number | undefined
}

/** On a ClusterDeployment, "true", as Hive's: there is one attempt, whatever the limit says. CLUSTER-52. */
const ONCE_ANNOTATION = 'hive.openshift.io/try-install-once'

const isTriedOnce = ({ metadata }: ClusterDeployment): boolean => metadata.annotations?.[ONCE_ANNOTATION] === 'true'

/** How many attempts may fail; undefined: as many as it takes. */
export const attemptsLimit = (deployment: ClusterDeployment): number | undefined =>
  isTriedOnce(deployment) ? 1 : deployment.spec.installAttemptsLimit

/** Why no further attempt is made, by Hive's reasons. @param failing what adapters say of the last one */
export const describeLimit = (
  deployment: ClusterDeployment,
  failed: number,
  failing: string | undefined,
): { readonly reason: string; readonly message: string } => {
  const last = failing === undefined ? '' : `; the last one: ${failing}`
  const message = `${failed} of ${attemptsLimit(deployment)} attempts have failed${last}`
  return isTriedOnce(deployment)
    ? { reason: 'InstallOnlyOnceSet', message: `${message}. Take the annotation ${ONCE_ANNOTATION} off to try again` }
    : { reason: 'InstallAttemptsLimitReached', message: `${message}. Raise installAttemptsLimit to try again` }
}

const FAILURE_GRACE: ExponentialBackoff = { initial: 60_000, factor: 2, max: 3_600_000 }

export const countAttempts = (
  { record, installed, failed, limit, failingSince }: AttemptInput,
  now: Date,
): Attempts => {
  const isOver = installed || isReady(record)
  const { failures: recorded, quota } = isOver ? NO_FAILURES : adapterFailures(record)
  // A record that asks for an attempt that has failed is out of date: the next one is under way.
  const failing = record.attempt > failed ? recorded : undefined
  const failsAt = failing === undefined ? undefined : (failingSince ?? now.getTime()) + failureGraceMs(record.attempt)
  const hasFailed = failsAt !== undefined && failsAt <= now.getTime()
  const counted = hasFailed ? record.attempt : failed
  const isStopped = !isOver && limit !== undefined && counted >= limit
  return {
    failed: counted,
    desired: isOver || isStopped ? record.attempt : Math.max(record.attempt, counted + 1),
    isStopped,
    failing: isStopped ? recorded : failing,
    quota: recorded === undefined && record.attempt > failed ? quota : undefined,
    failsAt: hasFailed ? undefined : failsAt,
  }
}

/** How long an attempt may fail before it counts, in milliseconds: a hiccup is none, and a cloud that is down is not hurried. */
export const failureGraceMs = (attempt: number): number => exponentialDelay(FAILURE_GRACE, attempt)

interface AdapterFailures {
  readonly failures: string | undefined
  readonly quota: string | undefined
}

const NO_FAILURES: AdapterFailures = { failures: undefined, quota: undefined }

/** What adapters say is wrong with the present generation, in their words; undefined when they say nothing of the kind. */
export const adapterProblems = (record: ClusterRecord): string | undefined => describe(reportedFalse(record))

const reportedFalse = (record: ClusterRecord): readonly RecordCondition[] =>
  record.conditions.filter(
    ({ type, status, observedGeneration }) =>
      type.endsWith(ADAPTER_SUFFIX) && status === 'False' && observedGeneration === record.generation,
  )

const adapterFailures = (record: ClusterRecord): AdapterFailures => {
  const reported = reportedFalse(record)
  const isQuota = ({ reason }: RecordCondition) => NO_ROOM_REASONS.includes(reason)
  return {
    failures: describe(reported.filter((condition) => !isQuota(condition))),
    quota: describe(reported.filter(isQuota)),
  }
}

const describe = (reported: readonly RecordCondition[]): string | undefined => {
  const messages = reported.map(
    ({ type, reason, message }) => `${type.slice(0, -ADAPTER_SUFFIX.length)}: ${message || reason || 'failed'}`,
  )
  return messages.length === 0 ? undefined : messages.join('; ')
}
