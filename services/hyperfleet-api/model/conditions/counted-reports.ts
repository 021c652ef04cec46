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
  /** Whether it is said which must report; nothing is ready before (API-160). */
  readonly isDecided: boolean
  /** Whether there are adapters that must report and each has a row that counts. */
  readonly isComplete: boolean
}

/**
 * With `reporting`, the adapters that must report are those whose report counts (API-18): one that has only said Unknown
 * changes nothing, as everywhere. While it is `undecided` these are shown, and are never complete.
 */
export const collectRequired = (
  rows: readonly AdapterStatus[],
  required: RequiredAdapters,
  generation: number,
): RequiredReports => {
  const byAdapter = countReports(rows, generation)
  const names = (typeof required === 'string' ? [...byAdapter.keys()] : [...required]).sort()
  const counted = names.flatMap((name) => byAdapter.get(name) ?? [])
  const isDecided = required !== 'undecided'
  const isComplete = isDecided && names.length > 0 && counted.length === names.length
  return { required: names, counted, isDecided, isComplete }
}

/** What is said of a resource whose kind is `undecided`. */
export const UNDECIDED = {
  reason: 'RequiredAdaptersUndecided',
  message:
    'required_adapters of this kind is undecided, so nothing is Ready: name there the adapters whose reports it waits for',
} as const

/** When the oldest of these was observed; undefined when there is none. */
export const oldestReportTime = (rows: readonly CountedReport[]): Timestamp | undefined =>
  rows.map(({ row }) => row.last_report_time).sort()[0]

/** `[dns, validation]`, sorted, as messages write adapters. */
export const formatAdapters = (adapters: readonly string[]): string => `[${adapters.toSorted().join(', ')}]`

/** The same of rows. */
export const formatReporters = (rows: readonly CountedReport[]): string =>
  formatAdapters(rows.map(({ row }) => row.adapter))
