import { namedAdapters, type RequiredAdapters } from './entity-config.ts'
import { isReleased } from './release.ts'
import { type AdapterStatus, type ReportedCondition, type Resource, reportedStatus } from './resource.ts'
import type { Timestamp } from './timestamp.ts'

/** What the gate looks at in a report; a stored status and a fresh report both have it. */
export interface CleanupReport {
  readonly observed_generation: number
  readonly observed_time: Timestamp
  readonly conditions: readonly ReportedCondition[]
}

export const asCleanupReport = (status: AdapterStatus): CleanupReport => ({
  observed_generation: status.observed_generation,
  observed_time: status.last_report_time,
  conditions: status.conditions,
})

/**
 * Has this adapter cleaned up after a resource that is being deleted (API-25)? Either way of saying so counts:
 * - Applied=False and Health=True, observed after the deletion was asked for;
 * - Finalized=True (the Go service's word), whatever Available says.
 * Both only at the resource's current generation: an older report speaks of what was there before.
 */
export const hasCleanedUp = (
  { generation, deleted_time }: Pick<Resource, 'generation' | 'deleted_time'>,
  { observed_generation, observed_time, conditions }: CleanupReport,
): boolean => {
  if (deleted_time === undefined || observed_generation !== generation) return false
  if (reportedStatus(conditions, 'Finalized') === 'True') return true
  return (
    reportedStatus(conditions, 'Applied') === 'False' &&
    reportedStatus(conditions, 'Health') === 'True' &&
    observed_time >= deleted_time
  )
}

/**
 * The adapters that a resource in deletion still waits for, sorted (API-26). It waits for the required ones and for every
 * adapter that ever reported about it: what has a status row may have left something behind. One that has let the resource
 * go has not (API-49).
 */
export const awaitedAdapters = (
  resource: Pick<Resource, 'generation' | 'deleted_time' | 'labels'>,
  rows: readonly AdapterStatus[],
  required: RequiredAdapters,
): readonly string[] => {
  const isDone = (row: AdapterStatus) => hasCleanedUp(resource, asCleanupReport(row)) || isReleased(row, resource)
  const done = new Set(rows.filter(isDone).map((row) => row.adapter))
  const all = new Set([...namedAdapters(required), ...rows.map((row) => row.adapter)])
  return [...all.difference(done)].sort()
}
