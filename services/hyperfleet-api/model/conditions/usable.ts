import type { RequiredAdapters } from '../entity-config.ts'
import { type AdapterStatus, reported } from '../resource.ts'
import type { Timestamp } from '../timestamp.ts'

/** A row that counts: it says True or False about a generation that the resource has reached. */
export interface Usable {
  readonly row: AdapterStatus
  readonly available: 'True' | 'False'
}

/** The rows that count, by adapter. Unknown says nothing, and no adapter can have observed a generation to come. */
export const usableRows = (rows: readonly AdapterStatus[], generation: number): ReadonlyMap<string, Usable> => {
  const usable = new Map<string, Usable>()
  for (const row of rows) {
    const available = reported(row.conditions, 'Available')
    if (row.observed_generation <= generation && (available === 'True' || available === 'False'))
      usable.set(row.adapter, { row, available })
  }
  return usable
}

/** What the adapters that must report have said. */
export interface Reports {
  /** Names of the adapters that must report, sorted. */
  readonly required: readonly string[]
  /** Rows of these that count. */
  readonly usable: readonly Usable[]
  /** Whether there are adapters that must report and each has a row that counts. */
  readonly isComplete: boolean
}

/**
 * With `reporting`, the adapters that must report are those whose report counts: one that has only said Unknown
 * changes nothing, as everywhere.
 */
export const reportsOf = (rows: readonly AdapterStatus[], required: RequiredAdapters, generation: number): Reports => {
  const byAdapter = usableRows(rows, generation)
  const names = (required === 'reporting' ? [...byAdapter.keys()] : [...required]).sort()
  const usable = names.flatMap((name) => byAdapter.get(name) ?? [])
  return { required: names, usable, isComplete: names.length > 0 && usable.length === names.length }
}

/** When the oldest of these was observed; undefined when there is none. */
export const oldest = (rows: readonly Usable[]): Timestamp | undefined =>
  rows.map(({ row }) => row.last_report_time).sort()[0]

/** `[dns, validation]`, sorted, as messages write adapters. */
export const list = (adapters: readonly string[]): string => `[${adapters.toSorted().join(', ')}]`

/** The same of rows. */
export const listAdapters = (rows: readonly Usable[]): string => list(rows.map(({ row }) => row.adapter))
