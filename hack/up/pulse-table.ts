import type { Sighting } from './observer.ts'

const HEADERS = ['RESOURCE', 'LABELS', 'PULSES', 'LAST REASON', 'BY', 'PHASE'] as const

const labelsOf = ({ labels = {} }: Sighting['resource']): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',') || '-'

/** `hyperfleet-sentinel/<SentinelConfig>` → the SentinelConfig. */
const nameIn = (source: string): string => source.slice(source.lastIndexOf('/') + 1)

const cellsOf = ({ resource, pulses, reason = '-', source = '-' }: Sighting): readonly string[] => [
  `${resource.kind.toLowerCase()}/${resource.name}`,
  labelsOf(resource),
  String(pulses),
  reason,
  nameIn(source),
  resource.status.phase,
]

/** The sightings as aligned columns, with a line of headers. */
export const pulseTable = (sightings: readonly Sighting[]): readonly string[] => {
  const rows = [HEADERS, ...sightings.map(cellsOf)]
  const widths = HEADERS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** One pulse as a line, for output that can't be redrawn. */
export const pulseLine = (sighting: Sighting): string => {
  const [resource, , pulses, reason, source, phase] = cellsOf(sighting)
  return `pulse ${pulses} of ${resource}: ${reason} (${source}), now ${phase}`
}
