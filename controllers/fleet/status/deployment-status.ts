/** What is written into the status of a Deployment. Pure. FLEET-19, FLEET-51. */
import type { Aggregate, Deployment, DeploymentStatus } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { type KstatusInput, kstatusConditions, withConditions } from '#operator/model/conditions.ts'
import type { SpecFault } from '../cache/spec-fault.ts'
import { ABORT_ANNOTATION, type Controls, parseControls, RESUME_ANNOTATION } from '../rollout/annotations.ts'
import type { ConflictCounts } from '../state/slot-conflicts.ts'
import type { NatsOutage } from '../state/sync-state.ts'
import type { Undecided } from '../state/undecided-devices.ts'
import { deploymentSlotConditions } from './multiple-owners.ts'
import { ignoredAnnotationConditions, undecidedConditions } from './told-conditions.ts'

export interface DeploymentStatusInput {
  readonly object: Deployment
  /** Undefined when no revision of it is rolled out. */
  readonly aggregate: Aggregate | undefined
  /** Undefined when it shares its slot with no other. */
  readonly conflictCounts: ConflictCounts | undefined
  /** The devices of which its expression can't say whether they are meant. */
  readonly undecided: Undecided | undefined
  readonly revision: number | undefined
  readonly rollout: RolloutStatus | undefined
  /** The batch takes longer than progressDeadline. */
  readonly isLate: boolean
  readonly fault: SpecFault | undefined
  /** What keeps the workload from being a revision; until it is one, all else is of the revision before. */
  readonly unstored: string | undefined
  /** Devices whose entries a later release wrote. */
  readonly laterEntries: number
  /** Devices whose entries the store has no room for. */
  readonly refusedEntries: number
  readonly now: Date
}

/** What this release writes. */
const KNOWN_FIELDS: Readonly<Record<keyof DeploymentStatus, true>> = {
  observedGeneration: true,
  conditions: true,
  aggregate: true,
  ready: true,
  revision: true,
  rollout: true,
  batch: true,
}

/** What only a later release writes. It stays: while an upgrade goes on, this one may lead beside it. */
const unknownFields = (status: DeploymentStatus = {}): object =>
  Object.fromEntries(Object.entries(status).filter(([field]) => !Object.hasOwn(KNOWN_FIELDS, field)))

export const buildDeploymentStatus = (input: DeploymentStatusInput): DeploymentStatus => {
  const { object, aggregate, conflictCounts, revision, rollout, now } = input
  const { generation } = object.metadata
  const before = object.status?.conditions
  const claims = [
    ...kstatusConditions({ ...explainReadiness(input), observedGeneration: generation }),
    ...deploymentSlotConditions(object.spec.slot, conflictCounts, { before, generation }),
    ...undecidedConditions(input.undecided, { before, generation }),
    ...ignoredAnnotationConditions(controlsOf(input), rollout, { before, generation }),
  ]
  return {
    ...unknownFields(object.status),
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: [...withConditions(before, claims, now)],
    ...(aggregate !== undefined && { aggregate, ready: `${aggregate.succeeded}/${aggregate.matched}` }),
    ...(revision !== undefined && { revision }),
    ...(rollout !== undefined && { rollout }),
    ...(rollout !== undefined && rollout.batches.length > 1 && { batch: `${rollout.batch}/${rollout.batches.length}` }),
  }
}

/** Annotations that can't be meant are a fault, which Ready tells. */
const controlsOf = ({ object, fault }: DeploymentStatusInput): Partial<Controls> =>
  fault?.reason === 'InvalidAnnotation' ? {} : parseControls(object.metadata.annotations)

/** The status while NATS is away: what was known stays, and says of what moment it is. The conditions are of this generation. */
export const buildOutdatedStatus = (
  { metadata, status }: Deployment,
  { since, problem }: NatsOutage,
  now: Date,
): DeploymentStatus => {
  const message = `NATS is away since ${since.toISOString()}, so the numbers are of before and nothing is rolled out: ${problem}`
  const observedGeneration = metadata.generation
  const claims = kstatusConditions({ type: 'Reconciling', reason: 'NatsUnavailable', message, observedGeneration })
  return {
    ...status,
    ...(observedGeneration !== undefined && { observedGeneration }),
    conditions: [...withConditions(status?.conditions, claims, now)],
  }
}

type Claimed = Pick<KstatusInput, 'type' | 'reason' | 'message'>

const explainReadiness = (input: DeploymentStatusInput): Claimed => {
  const { aggregate, rollout, isLate, fault, unstored, laterEntries, refusedEntries } = input
  if (fault !== undefined) return { type: 'Stalled', reason: fault.reason, message: fault.message }
  if (laterEntries > 0) {
    const message = `a later release of the operator wrote the entries of ${laterEntries} devices: this one leaves them alone and rolls nothing out`
    return { type: 'Reconciling', reason: 'LaterRelease', message }
  }
  if (refusedEntries > 0) {
    const message = `the bucket fleet-desired is full, so the entries of ${refusedEntries} devices could not be stored: these keep what they have. Raise its limit, or delete what is not needed`
    return { type: 'Reconciling', reason: 'StoreFull', message }
  }
  if (unstored !== undefined) return { type: 'Reconciling', reason: 'RevisionNotStored', message: unstored }
  if (aggregate === undefined || rollout === undefined)
    return { type: 'Reconciling', reason: 'Beginning', message: 'its revision is being stored' }
  const { message = '' } = rollout
  switch (rollout.phase) {
    case 'Suspended':
      return { type: 'Stalled', reason: 'RolloutSuspended', message: `${message}: ${waysOn(rollout)}` }
    case 'Paused':
      return { type: 'Reconciling', reason: 'RolloutPaused', message }
    case 'Waiting':
      return { type: 'Reconciling', reason: 'WaitingForApproval', message }
    case 'Active':
      return isLate
        ? { type: 'Stalled', reason: 'ProgressDeadlineExceeded', message: `${formatCounts(aggregate)}; it goes on` }
        : { type: 'Reconciling', reason: 'RollingOut', message: message === '' ? formatCounts(aggregate) : message }
    case 'Inactive':
      return explainFinished(aggregate)
  }
}

/** What a person may do about a batch that failed. FLEET-39. */
const waysOn = ({ revision, from }: RolloutStatus): string => {
  const resume = `go on in spite of it by another value of the annotation ${RESUME_ANNOTATION}`
  // Only a revision that came after another one can be taken back.
  return from === undefined
    ? `correct the spec, or ${resume}`
    : `correct the spec, ${resume}, or take it back by ${ABORT_ANNOTATION}=${revision}`
}

/** Devices that are offline are no reason not to be ready: some of a fleet always are. */
const explainFinished = (aggregate: Aggregate): Claimed => {
  const { matched, failed, pending, unreported, held, lastError } = aggregate
  if (matched === 0) return { type: 'Ready', reason: 'NoDevices', message: 'the selector matches no device' }
  if (failed > 0) return { type: 'Reconciling', reason: 'DevicesFailed', message: lastError ?? formatCounts(aggregate) }
  const isSettled = pending + unreported + held === 0
  const reason = isSettled ? 'Deployed' : 'DevicesPending'
  return { type: isSettled ? 'Ready' : 'Reconciling', reason, message: formatCounts(aggregate) }
}

/** `3 of 4 run it, 1 offline`. */
const formatCounts = ({ matched, succeeded, failed, pending, offline, unreported, held }: Aggregate): string => {
  const others = Object.entries({ failed, pending, offline, unreported, held }).filter(([, count]) => count > 0)
  return [`${succeeded} of ${matched} run it`, ...others.map(([word, count]) => `${count} ${word}`)].join(', ')
}
