import type { RecordOutcome } from '#services/hyperfleet-api/takeover/take-over.ts'

type Counted = RecordOutcome['outcome']

/** Counts by kind while records are taken over, and what people have to look at. */
export interface TakeoverSummary {
  add(record: RecordOutcome): void
  /** Whether every record is in the target, or was deleted there since. */
  isWhole(): boolean
  /** @param strayReports of the source, about records that it does not have */
  format(strayReports: number): string
}

const ORDER: readonly Counted[] = ['copied', 'copied before', 'changed since', 'deleted since', 'not copied']

export const summarizeTakeover = (isDryRun: boolean): TakeoverSummary => {
  const kinds = new Map<string, Map<Counted, number>>()
  const lines: string[] = []
  let reports = 0
  let isWhole = true
  return {
    add: (record) => {
      const counts = kinds.get(record.kind) ?? new Map<Counted, number>()
      kinds.set(record.kind, counts.set(record.outcome, (counts.get(record.outcome) ?? 0) + 1))
      const name = `${record.kind} ${record.name} (${record.id})`
      if (record.outcome === 'copied') reports += record.reports
      if (record.outcome === 'not copied') isWhole = false
      if (record.outcome === 'not copied') lines.push(`not copied: ${name}: ${record.reason}`)
      if (record.outcome === 'changed since')
        lines.push(`changed in the target since it was copied: ${name}: ${record.tables.join(', ')}`)
      if (record.outcome === 'deleted since') lines.push(`deleted in the target since it was copied: ${name}`)
    },
    isWhole: () => isWhole,
    format: (strayReports) => {
      const word = (outcome: Counted) => (isDryRun && outcome === 'copied' ? 'would be copied' : outcome)
      const counts = [...kinds].map(([kind, counted]) => {
        const total = [...counted.values()].reduce((sum, count) => sum + count, 0)
        const parts = ORDER.flatMap((outcome) => {
          const count = counted.get(outcome)
          return count === undefined ? [] : [`${count} ${word(outcome)}`]
        })
        return `${kind}: ${total} in the source: ${parts.join(', ')}`
      })
      const stray =
        strayReports === 0
          ? []
          : [`left in the source: ${strayReports} adapter reports about records that it does not have`]
      const all = [...lines, ...stray, ...(counts.length === 0 ? ['the source has no records'] : counts)]
      return `${[...all, `adapter reports: ${reports} ${word('copied')}`].join('\n')}\n`
    },
  }
}
