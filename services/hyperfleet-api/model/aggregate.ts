import { adapterConditions } from './conditions/adapter.ts'
import { availableVerdict } from './conditions/available.ts'
import { readyVerdict } from './conditions/ready.ts'
import type { Situation } from './conditions/situation.ts'
import { reportsOf } from './conditions/usable.ts'
import { conditionOf } from './conditions/verdict.ts'
import type { Condition, Resource, ResourceStatus } from './resource.ts'
import type { Timestamp } from './timestamp.ts'

/**
 * From adapter reports to a resource's conditions. Seed: pulses-and-status, API behaviour.
 *
 *   rows ─► reportsOf: what counts ─┬─► ready.ts      Ready, Reconciled
 *                                   ├─► available.ts  Available, LastKnownReconciled
 *                                   └─► adapter.ts    <Adapter>Successful
 *
 * A kind that requires no adapter has none of these: nothing reconciles it.
 */
export const aggregate = (situation: Situation): Condition[] => {
  const { resource, rows, previous, required } = situation
  if (required.length === 0) return []
  const reports = reportsOf(rows, required, resource.generation)
  const before = new Map(previous.map((condition) => [condition.type, condition]))
  const ready = readyVerdict(situation, reports)
  const available = availableVerdict(resource, reports, before.get('Available'))
  const verdicts = { Available: available, Ready: ready, LastKnownReconciled: available, Reconciled: ready }
  return [
    ...Object.entries(verdicts).map(([type, verdict]) =>
      conditionOf(type, verdict, before.get(type), resource.updated_time),
    ),
    ...adapterConditions(reports, before, resource),
  ]
}

/** `status` as sent: conditions, and the two fields that the seed's Sentinel reads. */
export const statusOf = (
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
