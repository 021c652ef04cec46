import type { AdapterStatus, InterimReport, JsonObject, Report, ReportedCondition } from './resource.ts'
import type { Timestamp } from './timestamp.ts'

/**
 * What becomes of a report that says Available=Unknown about a resource of which the adapter has said True or False
 * (API-48). Conditions and gate go by the row, which stays; beside it stands the newest such report, so that a run that
 * fails before it looked shows its Health. Row and report are each the newest of their sort: the order in which reports
 * come decides nothing.
 */

/** What conditions and the deletion gate go by: only a report that is aggregated changes it. */
const AGGREGATED_TYPES: readonly string[] = ['Available', 'Applied', 'Finalized']

/** An adapter's status as it is sent. */
export interface ShownStatus extends Omit<AdapterStatus, 'interim'> {
  /** The newest report, when it said Available=Unknown. */
  readonly latest_report?: Pick<InterimReport, 'observed_generation' | 'observed_time'> & {
    readonly conditions: readonly ReportedCondition[]
  }
}

/** Whether a report speaks of a newer generation, or of the same one and was observed at this time or later. */
export const isAtLeastAsNew = (
  a: { readonly observed_generation: number; readonly observed_time: Timestamp },
  b: { readonly observed_generation: number; readonly observed_time: Timestamp },
): boolean =>
  a.observed_generation === b.observed_generation
    ? a.observed_time >= b.observed_time
    : a.observed_generation > b.observed_generation

/** The row with a report of Available=Unknown beside it. */
export const applyInterimReport = (report: Report, stored: AdapterStatus): AdapterStatus => {
  const shown = showStatus(stored)
  return {
    ...stored,
    interim: {
      observed_generation: report.observed_generation,
      observed_time: report.observed_time,
      conditions: report.conditions.map((condition) => {
        const before = shown.conditions.find(({ type }) => type === condition.type)
        const since = before?.status === condition.status ? before.last_transition_time : report.observed_time
        return { ...condition, last_transition_time: since }
      }),
      data: report.data,
      ...(report.metadata !== undefined && { metadata: report.metadata }),
    },
  }
}

/** The row as clients see it: what is aggregated as it was aggregated, all else from the newest report. */
export const showStatus = ({ interim, ...row }: AdapterStatus): ShownStatus => {
  if (interim === undefined) return row
  const { observed_generation, observed_time, conditions, metadata } = interim
  const newer = conditions.filter(({ type }) => !AGGREGATED_TYPES.includes(type))
  const newerTypes = newer.map(({ type }) => type)
  return {
    ...row,
    conditions: [...row.conditions.filter(({ type }) => !newerTypes.includes(type)), ...newer],
    // A run that failed early has no data to tell: what was known stays.
    data: isEmpty(interim.data) ? row.data : interim.data,
    ...(metadata !== undefined && { metadata }),
    latest_report: { observed_generation, observed_time, conditions: conditions.map(withoutTime) },
  }
}

const withoutTime = ({
  last_transition_time: _since,
  ...condition
}: InterimReport['conditions'][number]): ReportedCondition => condition

const isEmpty = (data: JsonObject): boolean => Object.keys(data).length === 0
