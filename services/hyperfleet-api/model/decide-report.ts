import { isDeepStrictEqual } from 'node:util'
import { hasCleanedUp } from './deletion-gate.ts'
import { isAtLeastAsNew } from './interim-report.ts'
import { isReleased } from './release.ts'
import { type AdapterStatus, type Report, type ReportedCondition, type Resource, reportedStatus } from './resource.ts'
import { momentOf } from './timestamp.ts'

/** Which reports are taken: API-1 to API-6, checked in the order of the Go service. */

/** Every report carries these three (API-1). */
const MANDATORY_CONDITIONS = ['Available', 'Applied', 'Health'] as const

const MINUTE_MS = 60_000
const MAX_AHEAD_MS = 5 * MINUTE_MS
const MAX_AGE_MS = 30 * MINUTE_MS

/** Why a report was not aggregated, without an error; the value of the `Muster-Discarded` header. */
export type DiscardReason = 'FutureGeneration' | 'OlderGeneration' | 'OlderReport' | 'AvailableUnknown'

export type ReportDecision =
  | { readonly decision: 'store' }
  /** The adapter repeats what is stored, to the letter: answered as stored, nothing changes. */
  | { readonly decision: 'repeat'; readonly stored: AdapterStatus }
  /** Available=Unknown: it changes no condition, and stands beside what is stored (API-48). */
  | { readonly decision: 'interim'; readonly stored: AdapterStatus }
  | { readonly decision: 'discard'; readonly reason: DiscardReason }
  | { readonly decision: 'refuse'; readonly message: string }

/** Decides about a valid report, given the row the adapter has now, if any. */
export const decideReport = (
  report: Report,
  resource: Pick<Resource, 'generation' | 'deleted_time' | 'labels'>,
  stored: AdapterStatus | undefined,
): ReportDecision => {
  if (report.observed_generation > resource.generation) return { decision: 'discard', reason: 'FutureGeneration' }
  if (stored !== undefined) {
    if (report.observed_generation < stored.observed_generation)
      return { decision: 'discard', reason: 'OlderGeneration' }
    if (report.observed_generation === stored.observed_generation && report.observed_time < stored.last_report_time)
      return { decision: 'discard', reason: 'OlderReport' }
  }
  const missing = MANDATORY_CONDITIONS.find((type) => reportedStatus(report.conditions, type) === undefined)
  if (missing !== undefined)
    return {
      decision: 'refuse',
      message: `missing mandatory condition '${missing}': all adapters must report Available, Applied, and Health`,
    }
  if (stored === undefined) return { decision: 'store' }
  // The first Unknown is stored so that the adapter shows; a finished clean-up and a release are stored because without
  // them the record would wait for ever. An adapter that had let the resource go and is at work again takes that back: else
  // a deletion would not wait for it (API-49).
  const isBack = isReleased(stored, resource) && !isReleased(applyReport(report, stored), resource)
  if (isBack) return { decision: 'store' }
  if (isInProgress(report) && !hasCleanedUp(resource, report) && !isReleased(applyReport(report, stored), resource)) {
    const { interim } = stored
    return interim === undefined || isAtLeastAsNew(report, interim)
      ? { decision: 'interim', stored }
      : { decision: 'discard', reason: 'OlderReport' }
  }
  return isUnchanged(report, stored) ? { decision: 'repeat', stored } : { decision: 'store' }
}

/** Available=Unknown: the adapter is still at work. Such a report changes no condition and moves no time (API-5). */
export const isInProgress = ({ conditions }: Pick<Report, 'conditions'>): boolean =>
  reportedStatus(conditions, 'Available') === 'Unknown'

/** The row after a report: replaced whole, except the times that tell since when. */
export const applyReport = (report: Report, stored: AdapterStatus | undefined): AdapterStatus => ({
  adapter: report.adapter,
  observed_generation: report.observed_generation,
  conditions: report.conditions.map((condition) => {
    const before = stored?.conditions.find(({ type }) => type === condition.type)
    const since = before?.status === condition.status ? before.last_transition_time : report.observed_time
    return { ...condition, last_transition_time: since }
  }),
  data: report.data,
  ...(report.metadata !== undefined && { metadata: report.metadata }),
  created_time: stored?.created_time ?? report.observed_time,
  last_report_time: report.observed_time,
  // Reports may overtake each other.
  ...(stored?.interim !== undefined && !isAtLeastAsNew(report, stored.interim) && { interim: stored.interim }),
})

/** A clock skewed further than this can't be ordered against other reports. Undefined when the time is fine. */
export const checkObservedTime = ({ observed_time }: Pick<Report, 'observed_time'>, now: Date): string | undefined => {
  const age = now.getTime() - momentOf(observed_time).getTime()
  if (age < -MAX_AHEAD_MS) return 'must not be more than 5 minutes in the future: check the adapter host’s clock'
  if (age > MAX_AGE_MS) return 'must not be more than 30 minutes old: observe again and report that'
  return undefined
}

const isUnchanged = (report: Report, stored: AdapterStatus): boolean =>
  report.observed_generation === stored.observed_generation &&
  report.observed_time === stored.last_report_time &&
  isDeepStrictEqual(
    [report.data, report.metadata, report.conditions],
    [stored.data, stored.metadata, stored.conditions.map(asReported)],
  )

const asReported = ({
  last_transition_time: _since,
  ...condition
}: AdapterStatus['conditions'][number]): ReportedCondition => condition
