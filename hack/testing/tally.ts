/** What tests came to. */
export interface Tally {
  readonly passed: number
  /** What failed, by name. Failures outside a test count too: a check, a file that can't be loaded, an unhandled error. */
  readonly failed: readonly string[]
  /** Why each skipped test was skipped. */
  readonly skipped: readonly string[]
}

/** What the tests of one file came to. */
export interface FileTally extends Tally {
  /** Path in the repository. */
  readonly file: string
}

export const total = (tallies: readonly Tally[]): Tally => ({
  passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
  failed: tallies.flatMap(({ failed }) => failed),
  skipped: tallies.flatMap(({ skipped }) => skipped),
})

/** Of more files than these a second run would say nothing: something is broken. */
const SECOND_TRIES = 3

/** The files to run again: those that failed, unless they are many. */
export const secondTries = (files: readonly FileTally[]): readonly string[] => {
  const failed = files.filter((one) => one.failed.length > 0).map(({ file }) => file)
  return failed.length > SECOND_TRIES ? [] : failed
}

/** A run with its second tries in it, and what failed only the first time: it is told, so that its cause is looked for. */
export const afterSecondTries = (
  first: readonly FileTally[],
  second: readonly FileTally[],
): { readonly files: readonly FileTally[]; readonly unsteady: readonly string[] } => {
  const again = new Map(second.map((one) => [one.file, one]))
  return {
    files: first.map((one) => again.get(one.file) ?? one),
    unsteady: first.flatMap(({ file, failed }) => {
      const stillFailed = again.get(file)?.failed ?? failed
      return failed.filter((name) => !stillFailed.includes(name))
    }),
  }
}

/** The last lines of `npm test`; the very last is for machines: `N passed, N failed`, and `, N skipped` when there are. */
export const summary = ({ passed, failed, skipped }: Tally, unsteady: readonly string[] = []): readonly string[] => {
  const lines = [
    ...unsteady.map((name) => `unsteady: ${name} (failed, and passed when its file ran again)`),
    ...failed.map((name) => `failed: ${name}`),
  ]
  for (const [reason, tests] of Map.groupBy(skipped, (reason) => reason))
    lines.push(`skipped ${tests.length}: ${reason}`)
  const counts = [`${passed} passed`, `${failed.length} failed`]
  if (skipped.length > 0) counts.push(`${skipped.length} skipped`)
  return [...lines, counts.join(', ')]
}
