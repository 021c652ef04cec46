/** What a run of benches is written as: JSON for machines, a table for people, the same table in docs/benchmarks.md. */
import { formatMachine, type Machine } from '../measure/machine.ts'
import type { Row } from './row.ts'
import { markdownTable, textTable } from './table.ts'

export interface BenchReport {
  readonly bench: string
  readonly summary: string
  /** RFC 3339, UTC. */
  readonly date: string
  readonly machine: Machine
  readonly rows: readonly Row[]
  /** What a reader of the rows must know. */
  readonly notes: readonly string[]
}

export const textReport = ({ bench, summary, machine, rows, notes }: BenchReport): string =>
  [`${bench}: ${summary}`, formatMachine(machine), '', textTable(rows), ...notes.map((note) => `Note: ${note}`)].join(
    '\n',
  )

export const markdownReport = ({ summary, date, machine, rows, notes }: BenchReport): string =>
  [
    summary,
    '',
    markdownTable(rows),
    '',
    ...notes.map((note) => `- ${note.replaceAll('\n', ' ')}`),
    ...(notes.length > 0 ? [''] : []),
    `Measured ${date.slice(0, 10)}: ${formatMachine(machine)}.`,
  ].join('\n')

/** One list of rows for all benches: `{ machine, rows: [{ bench, name, value, unit, peer, ratio, … }], notes }`. */
export const jsonReport = (reports: readonly BenchReport[]): string => {
  const rows = reports.flatMap(({ bench, rows }) => rows.map((row) => ({ bench, ...row })))
  const notes = reports.flatMap(({ bench, notes }) => notes.map((text) => ({ bench, text })))
  const [first] = reports
  return `${JSON.stringify({ date: first?.date, machine: first?.machine, rows, notes }, undefined, 2)}\n`
}
