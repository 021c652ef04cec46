import { awaitedAdapters } from '../deletion-gate.ts'
import type { AggregationInput } from './aggregation-input.ts'
import type { ConditionValue } from './condition-value.ts'
import { formatAdapters, oldestReportTime, type RequiredReports, UNDECIDED } from './counted-reports.ts'

/**
 * `Ready` (`Reconciled` under the Go service's name): every required adapter says True of the current generation. It always
 * speaks of the current generation, so a spec change makes it False at once. API-14, API-15.
 */
export const decideReady = (
  input: AggregationInput,
  { required, counted, isDecided }: RequiredReports,
): ConditionValue => {
  const { generation, deleted_time, updated_time, created_time = updated_time } = input.resource
  const current = counted.filter(({ row }) => row.observed_generation === generation)
  const verdict = {
    observed_generation: generation,
    last_updated_time: oldestReportTime(current) ?? (counted.length === 0 ? created_time : updated_time),
  }
  if (deleted_time !== undefined)
    return { ...verdict, status: 'False', reason: 'Deleting', message: describeAwaited(input) }
  if (!isDecided) return { ...verdict, status: 'False', ...UNDECIDED }
  if (required.length === 0)
    return { ...verdict, status: 'False', reason: 'ReconciledMissingAdapters', message: 'No adapter has reported yet' }
  const agreeing = current.filter(({ available }) => available === 'True').map(({ row }) => row.adapter)
  const missing = required.filter((adapter) => !agreeing.includes(adapter))
  if (missing.length === 0)
    return {
      ...verdict,
      status: 'True',
      reason: 'ReconciledAll',
      message: 'All required adapters reported Available=True or Finalized=True at the current generation',
    }
  return {
    ...verdict,
    status: 'False',
    reason: 'ReconciledMissingAdapters',
    message: `Required adapters not reporting Available=True: ${formatAdapters(missing)}. Currently reporting: ${formatAdapters(agreeing)}`,
  }
}

/** `Ready` of a resource that every adapter has let go: there is nothing to reconcile, as of a kind without adapters (API-49). */
export const decideUnselected = (input: AggregationInput): ConditionValue => {
  const { generation, deleted_time, updated_time } = input.resource
  const reported = input.rows.map(({ last_report_time }) => last_report_time).sort()[0]
  const verdict = { observed_generation: generation, last_updated_time: reported ?? updated_time }
  return deleted_time !== undefined
    ? { ...verdict, status: 'False', reason: 'Deleting', message: describeAwaited(input) }
    : {
        ...verdict,
        status: 'True',
        reason: 'ReconciledAll',
        message: 'No adapter’s task selects this resource any more',
      }
}

/** Names the adapters that a deletion still waits for: the first question about one that does not end. */
const describeAwaited = ({ resource, rows, required, hasChildren, runs = [] }: AggregationInput): string => {
  const awaited = awaitedAdapters(resource, rows, required)
  const parts = [
    ...(awaited.length > 0 ? [`adapters ${formatAdapters(awaited)} to report their clean-up`] : []),
    ...(runs.length > 0 ? [`consumer groups ${formatAdapters(runs)} to finish what they began before it`] : []),
    ...(hasChildren ? ['child resources to be removed'] : []),
  ]
  return parts.length === 0 ? 'Deletion in progress' : `Deletion in progress, waiting for ${parts.join(' and ')}`
}
