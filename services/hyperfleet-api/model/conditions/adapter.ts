import { adapterConditionType } from '#apis/hyperfleet.redhat.com/adapter-condition.ts'
import type { Condition, Resource } from '../resource.ts'
import type { CountedReport, RequiredReports } from './counted-reports.ts'

/**
 * What each required adapter said last, under a condition of its own (API-17). One that has never said True or False has none,
 * and one that fell back to Unknown keeps what it had. Of two with one type the one that says False is shown (API-121).
 */
export const adapterConditions = (
  { required, counted }: RequiredReports,
  before: ReadonlyMap<string, Condition>,
  resource: Pick<Resource, 'updated_time'>,
): Condition[] => {
  const conditions = new Map<string, Condition>()
  for (const adapter of required) {
    const type = adapterConditionType(adapter)
    const report = counted.find(({ row }) => row.adapter === adapter)
    const previous = before.get(type)
    const condition = report === undefined ? previous : adapterCondition(type, report, previous, resource)
    // Two names can give one type (`pull-secret` and `pull--secret`): a resource has each type once, and one that fails is to be seen.
    const other = conditions.get(type)
    if (condition !== undefined && (other === undefined || (other.status === 'True' && condition.status === 'False')))
      conditions.set(type, condition)
  }
  return [...conditions.values()]
}

const adapterCondition = (
  type: string,
  { row, available }: CountedReport,
  previous: Condition | undefined,
  resource: Pick<Resource, 'updated_time'>,
): Condition => {
  const { reason, message } = row.conditions.find((condition) => condition.type === 'Available') ?? {}
  return {
    type,
    status: available,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
    observed_generation: row.observed_generation,
    created_time: previous?.created_time ?? resource.updated_time,
    last_updated_time: row.last_report_time,
    last_transition_time: previous?.status === available ? previous.last_transition_time : row.last_report_time,
  }
}
