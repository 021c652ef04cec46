import type { Condition, Resource } from '../resource.ts'
import { listAdapters, oldest, type Reports } from './usable.ts'
import type { Verdict } from './verdict.ts'

/**
 * `Available` (`LastKnownReconciled` under the peer's name): it runs, at some generation; the last known good
 * configuration. Seed: pulses-and-status, API behaviour 3 and 4.
 *
 * True only when every required adapter says so of one same generation, False only when one says so of the generation
 * that the condition speaks of. Everything else leaves it as it was, and the generation it speaks of never goes back.
 */
export const availableVerdict = (
  resource: Pick<Resource, 'updated_time'>,
  reports: Reports,
  previous: Condition | undefined,
): Verdict => {
  const { usable } = reports
  const tracked = previous?.observed_generation ?? Math.max(1, ...usable.map(({ row }) => row.observed_generation))
  const agreed = agreedGeneration(reports)
  if (agreed !== undefined && agreed >= tracked)
    return {
      status: 'True',
      observed_generation: agreed,
      last_updated_time: oldest(usable) ?? resource.updated_time,
      reason: 'AllAdaptersReconciled',
      message: 'All required adapters reported Available=True for the tracked generation',
    }
  const failing = usable.filter(({ available }) => available === 'False')
  const failingTracked = failing.filter(({ row }) => row.observed_generation === tracked)
  if (failingTracked.length > 0)
    return {
      status: 'False',
      observed_generation: tracked,
      last_updated_time: oldest(failingTracked) ?? resource.updated_time,
      reason: 'AdapterReportedNotAvailable',
      message: `Required adapters reporting Available=False: ${listAdapters(failingTracked)}`,
    }
  if (previous?.status === 'True') return previous
  return {
    status: 'False',
    observed_generation: tracked,
    last_updated_time: previous?.last_updated_time ?? resource.updated_time,
    ...stillFalse(reports, tracked),
  }
}

/** The one generation of which every required adapter says True, if there is one. */
export const agreedGeneration = ({ usable, isComplete }: Reports): number | undefined => {
  const generation = usable[0]?.row.observed_generation
  const isAgreed = usable.every(({ row, available }) => available === 'True' && row.observed_generation === generation)
  return isComplete && isAgreed ? generation : undefined
}

const stillFalse = ({ usable, isComplete }: Reports, tracked: number): Pick<Verdict, 'reason' | 'message'> => {
  if (!isComplete)
    return { reason: 'AdaptersMissingReports', message: 'Required adapters have not yet reported status' }
  const failing = usable.filter(({ available }) => available === 'False')
  if (failing.length > 0)
    return {
      reason: 'AdapterReportedNotAvailable',
      message: `Required adapters reporting Available=False: ${listAdapters(failing)}`,
    }
  return {
    reason: 'AdaptersNotAtSameGeneration',
    message: `Required adapters have not all reported Available=True at one generation, ${tracked} or newer`,
  }
}
