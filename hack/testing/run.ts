import { type CliOptions, createVitest, TestsNotFoundError, type Vitest } from 'vitest/node'
import { type Counted, type CountingReporter, countingReporter } from './reporter.ts'
import { afterSecondTries, secondTries, type Tally, total } from './tally.ts'

/** What a run of tests came to, and what failed in it only once. */
export interface RunEnd {
  readonly tally: Tally
  readonly unsteady: readonly string[]
}

/** Which tests to run. */
export interface Wanted {
  /** Parts of files' paths; all files when empty. */
  readonly filter: readonly string[]
  /** vitest's. */
  readonly options: CliOptions
  /** Whether files that fail, should they be few, run a second time when all others have ended. */
  readonly again: boolean
}

const NEVER_ENDED: RunEnd = {
  tally: { passed: 0, failed: ['the test run did not come to its end'], skipped: [] },
  unsteady: [],
}

/** Runs vitest's tests, and stops the servers that they share. Says what went wrong, and rejects only for options that vitest refuses. */
export const runTests = async (wanted: Wanted, say: (line: string) => void): Promise<RunEnd> => {
  const reporter = countingReporter()
  const vitest = await createVitest('test', { ...wanted.options, watch: false, reporters: ['default', reporter] })
  const { tally, unsteady } = await runs(vitest, reporter, wanted, say)
  await vitest.close()
  // What is found when the servers have stopped (test/harness/calls.ts) fails no test: vitest tells it by the exit code alone.
  const foundAtTheEnd = tally.failed.length === 0 && (process.exitCode ?? 0) !== 0
  return { tally: foundAtTheEnd ? { ...tally, failed: ['the end of the run: see above'] } : tally, unsteady }
}

const runs = async (
  vitest: Vitest,
  reporter: CountingReporter,
  { filter, again }: Wanted,
  say: (line: string) => void,
): Promise<RunEnd> => {
  try {
    await vitest.start([...filter])
    const first = reporter.counted()
    if (first === undefined) return NEVER_ENDED
    const files = again ? secondTries(first.files) : []
    if (files.length === 0) return endOf(first)
    say(`A second try, now that all others have ended: ${files.join(' ')}`)
    process.exitCode = 0
    const modules = first.modules.filter(({ relativeModuleId }) => files.includes(relativeModuleId))
    await vitest.runTestSpecifications(modules.map((module) => module.toTestSpecification()))
    return endOf(first, reporter.counted())
  } catch (error) {
    // That one vitest has told already, with the patterns it went by.
    if (!(error instanceof TestsNotFoundError)) vitest.logger.printError(error, { fullStack: true })
    return NEVER_ENDED
  }
}

const endOf = (first: Counted, second?: Counted): RunEnd => {
  const { files, unsteady } = afterSecondTries(first.files, second?.files ?? [])
  const outside = [...first.outside, ...(second?.outside ?? [])]
  return { tally: total([{ passed: 0, failed: outside, skipped: [] }, ...files]), unsteady }
}
