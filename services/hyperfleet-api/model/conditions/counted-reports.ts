import type { RequiredAdapters } from '../entity-config.ts'
import { type AdapterStatus, reportedStatus } from '../resource.ts'
import type { Timestamp } from '../timestamp.ts'

/** A row that counts: it says True or False about a generation that the resource has reached. */
export interface CountedReport {
  readonly row: AdapterStatus
  readonly available: 'True' | 'False'
}

/** The rows that count, by adapter. Unknown says nothing, and no adapter can have observed a generation to come. */
const countReports = (rows: readonly AdapterStatus[], generation: number): ReadonlyMap<string, CountedReport> => {
  const usable = new Map<string, CountedReport>()
  for (const row of rows) {
    const available = reportedStatus(row.conditions, 'Available')
    if (row.observed_generation <= generation && (available === 'True' || available === 'False'))
      usable.set(row.adapter, { row, available })
  }
  return usable
}

/** What the adapters that must report have said. */
export interface RequiredReports {
  /** Names of the adapters that must report, sorted. */
  readonly required: readonly string[]
  /** Rows of these that count. */
  readonly counted: readonly CountedReport[]
  /** Whether there are adapters that must report and each has a row that counts. */
  readonly isComplete: boolean
}

/**
 * With `reporting`, the adapters that must report are those whose report counts (API-18): one that has only said Unknown
 * changes nothing, as everywhere.
 */
export const collectRequired = (
  rows: readonly AdapterStatus[],
  required: RequiredAdapters,
  generation: number,
): RequiredReports => {
  const byAdapter = countReports(rows, generation)
  const names = (required === 'reporting' ? [...byAdapter.keys()] : [...required]).sort()
  const counted = names.flatMap((name) => byAdapter.get(name) ?? [])
  return { required: names, counted, isComplete: names.length > 0 && counted.length === names.length }
}

/** When the oldest of these was observed; undefined when there is none. */
export const oldestReportTime = (rows: readonly CountedReport[]): Timestamp | undefined =>
  rows.map(({ row }) => row.last_report_time).sort()[0]

/** `[dns, validation]`, sorted, as messages write adapters. */
export const formatAdapters = (adapters: readonly string[]): string => `[${adapters.toSorted().join(', ')}]`

/** The same of rows. */
export const formatReporters = (rows: readonly CountedReport[]): string =>
  formatAdapters(rows.map(({ row }) => row.adapter))
