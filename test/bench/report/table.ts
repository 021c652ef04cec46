import { formatTarget, type Row } from './row.ts'

const HEAD = ['what', 'ours', 'unit', 'compared with', 'ratio', 'target', ''] as const

/** Three significant digits, whole numbers from 100 on: more would only be noise. */
export const formatNumber = (value: number): string =>
  Math.abs(value) >= 100 || value === 0 ? String(Math.round(value)) : String(Number(value.toPrecision(3)))

const cells = (row: Row): readonly string[] => [
  row.name,
  row.value === null ? 'not measured' : formatNumber(row.value),
  row.unit,
  row.peer === null ? '' : `${formatNumber(row.peer)} (${row.peerName})`,
  row.ratio === null ? '' : `${formatNumber(row.ratio)}x`,
  row.target === null ? '' : formatTarget(row.target),
  row.verdict === 'open' ? '' : row.verdict === 'met' ? 'met' : 'MISSED',
]

/** Columns padded with spaces, for a terminal. */
export const textTable = (rows: readonly Row[]): string => {
  const lines = [HEAD, ...rows.map(cells)]
  const widths = HEAD.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** A Markdown table, for docs/benchmarks.md. */
export const markdownTable = (rows: readonly Row[]): string =>
  [HEAD, HEAD.map(() => '---'), ...rows.map(cells)]
    .map((line) => `| ${line.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')
