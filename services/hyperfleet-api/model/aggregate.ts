import { adapterConditions } from './conditions/adapter.ts'
import type { AggregationInput } from './conditions/aggregation-input.ts'
import { decideAvailable } from './conditions/available.ts'
import { buildCondition } from './conditions/condition-value.ts'
import { collectRequired } from './conditions/counted-reports.ts'
import { decideReady, decideUnselected } from './conditions/ready.ts'
import { releasedAdapters } from './release.ts'
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
export const aggregateConditions = (input: AggregationInput): Condition[] => {
  const { resource, rows, previous, required } = input
  if (required.length === 0) return []
  const released = releasedAdapters(rows, resource)
  const reports = collectRequired(
    rows.filter(({ adapter }) => !released.has(adapter)),
    typeof required === 'string' ? required : required.filter((adapter) => !released.has(adapter)),
    resource.generation,
  )
  const before = new Map(previous.map((condition) => [condition.type, condition]))
  const isUnselected = reports.isDecided && reports.required.length === 0 && released.size > 0
  const ready = isUnselected ? decideUnselected(input) : decideReady(input, reports)
  const available =
    isUnselected && resource.deleted_time === undefined
      ? ready
      : decideAvailable(resource, reports, before.get('Available'))
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
