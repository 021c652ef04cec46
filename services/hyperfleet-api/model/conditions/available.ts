import type { Condition, Resource } from '../resource.ts'
import type { ConditionValue } from './condition-value.ts'
import { formatReporters, oldestReportTime, type RequiredReports, UNDECIDED } from './counted-reports.ts'

/**
 * `Available` (`LastKnownReconciled` under the Go service's name): it runs, at some generation; the last known good
 * configuration. API-11, API-12, API-13.
 *
 * True only when every required adapter says so of one same generation, False only when one says so of the generation
 * that the condition speaks of. Everything else leaves it as it was, and the generation it speaks of never goes back.
 */
export const decideAvailable = (
  resource: Pick<Resource, 'updated_time'>,
  reports: RequiredReports,
  previous: Condition | undefined,
): ConditionValue => {
  const { counted } = reports
  const tracked = previous?.observed_generation ?? Math.max(1, ...counted.map(({ row }) => row.observed_generation))
  const agreed = agreedGeneration(reports)
  if (agreed !== undefined && agreed >= tracked)
    return {
      status: 'True',
      observed_generation: agreed,
      last_updated_time: oldestReportTime(counted) ?? resource.updated_time,
      reason: 'AllAdaptersReconciled',
      message: 'All required adapters reported Available=True for the tracked generation',
    }
  const failing = counted.filter(({ available }) => available === 'False')
  const failingTracked = failing.filter(({ row }) => row.observed_generation === tracked)
  if (failingTracked.length > 0)
    return {
      status: 'False',
      observed_generation: tracked,
      last_updated_time: oldestReportTime(failingTracked) ?? resource.updated_time,
      reason: 'AdapterReportedNotAvailable',
      message: `Required adapters reporting Available=False: ${formatReporters(failingTracked)}`,
    }
  if (previous?.status === 'True') return previous
  return {
    status: 'False',
    observed_generation: tracked,
    last_updated_time: previous?.last_updated_time ?? resource.updated_time,
    ...explainFalse(reports, tracked),
  }
}

/** The one generation of which every required adapter says True, if there is one. */
export const agreedGeneration = ({ counted, isComplete }: RequiredReports): number | undefined => {
  const generation = counted[0]?.row.observed_generation
  const isAgreed = counted.every(({ row, available }) => available === 'True' && row.observed_generation === generation)
  return isComplete && isAgreed ? generation : undefined
}

const explainFalse = (
  { counted, isDecided, isComplete }: RequiredReports,
  tracked: number,
): Pick<ConditionValue, 'reason' | 'message'> => {
  if (!isDecided) return UNDECIDED
  if (!isComplete)
    return { reason: 'AdaptersMissingReports', message: 'Required adapters have not yet reported status' }
  const failing = counted.filter(({ available }) => available === 'False')
  if (failing.length > 0)
    return {
      reason: 'AdapterReportedNotAvailable',
      message: `Required adapters reporting Available=False: ${formatReporters(failing)}`,
    }
  return {
    reason: 'AdaptersNotAtSameGeneration',
    message: `Required adapters have not all reported Available=True at one generation, ${tracked} or newer`,
  }
}
