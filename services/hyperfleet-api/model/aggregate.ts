import { adapterConditions } from './conditions/adapter.ts'
import type { AggregationInput } from './conditions/aggregation-input.ts'
import { decideAvailable } from './conditions/available.ts'
import { buildCondition } from './conditions/condition-value.ts'
import { collectRequired } from './conditions/counted-reports.ts'
import { decideReady } from './conditions/ready.ts'
import type { Condition, Resource, ResourceStatus } from './resource.ts'
import type { Timestamp } from './timestamp.ts'

/**
 * From adapter reports to a resource's conditions. Rules: API-10 to API-22.
 *
 *   rows ─► collectRequired: what counts ─┬─► ready.ts      Ready, Reconciled
 *                                   ├─► available.ts  Available, LastKnownReconciled
 *                                   └─► adapter.ts    <Adapter>Successful
 *
 * A kind that requires no adapter has none of these: nothing reconciles it (API-19).
 */
export const aggregateConditions = (situation: AggregationInput): Condition[] => {
  const { resource, rows, previous, required } = situation
  if (required.length === 0) return []
  const reports = collectRequired(rows, required, resource.generation)
  const before = new Map(previous.map((condition) => [condition.type, condition]))
  const ready = decideReady(situation, reports)
  const available = decideAvailable(resource, reports, before.get('Available'))
  const verdicts = { Available: available, Ready: ready, LastKnownReconciled: available, Reconciled: ready }
  return [
    ...Object.entries(verdicts).map(([type, verdict]) =>
      buildCondition(type, verdict, before.get(type), resource.updated_time),
    ),
    ...adapterConditions(reports, before, resource),
  ]
}

/** `status` as sent: conditions, and the two fields that simple clients read (API-20). */
export const buildStatus = (
  resource: Pick<Resource, 'deleted_time'>,
  conditions: readonly Condition[],
  lastTransitionTime: Timestamp | undefined,
): ResourceStatus => {
  const ready = conditions.find(({ type }) => type === 'Ready')
  return {
    phase:
      resource.deleted_time !== undefined ? 'Deleting' : (ready?.status ?? 'True') === 'True' ? 'Ready' : 'NotReady',
    ...(lastTransitionTime !== undefined && { lastTransitionTime }),
    conditions,
  }
}
