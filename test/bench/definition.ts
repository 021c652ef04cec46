/** What a bench is: a name, what it shows, and a run that gives figures. */
import type { Figure } from './report/row.ts'

/** A line of progress for people, on standard error. */
export type Say = (line: string) => void

export interface Bench {
  readonly name: string
  /** One sentence: what is measured, and how. Printed by --list and above the table. */
  readonly summary: string
  run(context: BenchContext): Promise<readonly Figure[]>
}

export interface BenchContext {
  readonly say: Say
  /** Something a reader of the table must know, e.g. why a peer is missing. Printed under it. */
  readonly note: (text: string) => void
  /** So many of what a bench is about, or fewer, as `--size` says. */
  readonly sized: (count: number) => number
}
