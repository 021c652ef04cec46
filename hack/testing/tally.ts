/** What a test run came to. */
export interface Tally {
  readonly passed: number
  /** What failed, by name. Failures outside a test count too: a check, a file that can't be loaded, an unhandled error. */
  readonly failed: readonly string[]
  /** Why each skipped test was skipped. */
  readonly skipped: readonly string[]
}

/** The last lines of `npm test`; the very last is for machines: `N passed, N failed`, and `, N skipped` when there are. */
export const summary = ({ passed, failed, skipped }: Tally): readonly string[] => {
  const lines = failed.map((name) => `failed: ${name}`)
  for (const [reason, tests] of Map.groupBy(skipped, (reason) => reason))
    lines.push(`skipped ${tests.length}: ${reason}`)
  const counts = [`${passed} passed`, `${failed.length} failed`]
  if (skipped.length > 0) counts.push(`${skipped.length} skipped`)
  return [...lines, counts.join(', ')]
}
