import { type CliOptions, createVitest, type TestSpecification, TestsNotFoundError, type Vitest } from 'vitest/node'
import { type Counted, type CountingReporter, countingReporter } from './reporter.ts'
import type { RunReporter } from './run-reporter.ts'
import { showProgress } from './show-progress.ts'
import { afterSecondTries, secondTries, type Tally, total } from './tally.ts'

/** Which tests to run together, all with vitest's options. */
export interface PartSelection {
  /** Projects of vitest's configuration; none for those that the options name. */
  readonly projects: readonly string[]
  /** Parts of files' paths; all files when empty. */
  readonly filter: readonly string[]
  /** vitest's. */
  readonly options: CliOptions
  /** Whether files that fail, should they be few, run a second time when the others have ended. */
  readonly again: boolean
}

/** Of the files that fit the filter, those to run; all when undefined. @param vitest knows what imports what */
export type Select = (vitest: Vitest, files: readonly TestSpecification[]) => Promise<readonly TestSpecification[]>

/** What the tests of a part came to, and what failed in it only once. */
export interface PartOutcome {
  readonly tally: Tally
  readonly unsteady: readonly string[]
}

export const NEVER_ENDED: PartOutcome = {
  tally: { passed: 0, failed: ['the test run did not come to its end'], skipped: [] },
  unsteady: [],
}

/** Runs a part's tests in this process, and stops the servers that they share. Rejects only for options that vitest refuses. */
export const runPart = async (
  selection: PartSelection & { select?: Select | undefined },
  timing: RunReporter,
  say: (line: string) => void,
): Promise<PartOutcome> => {
  const { projects } = selection
  const counting = countingReporter()
  const vitest = await createVitest('test', {
    ...selection.options,
    ...(projects.length > 0 && { project: [...projects] }),
    watch: false,
    // Its summary would be a second live line.
    reporters: [['default', { summary: false }], counting, timing],
  })
  const { tally, unsteady } = await runs(vitest, counting, timing, selection, say)
  // What is found when the servers have stopped (test/harness/global.ts) fails no test: vitest tells it by the exit code alone.
  process.exitCode = 0
  await vitest.close()
  const foundAtTheEnd = process.exitCode !== 0
  return {
    tally: foundAtTheEnd ? { ...tally, failed: [...tally.failed, 'the end of the run: see above'] } : tally,
    unsteady,
  }
}

const runs = async (
  vitest: Vitest,
  reporter: CountingReporter,
  timing: RunReporter,
  { filter, again, select }: PartSelection & { select?: Select | undefined },
  say: (line: string) => void,
): Promise<PartOutcome> => {
  using _progress = showProgress(timing.progress, say)
  try {
    if (select === undefined) {
      await vitest.start([...filter])
    } else {
      const files = await select(vitest, await vitest.globTestSpecifications([...filter]))
      if (files.length === 0) return { tally: total([]), unsteady: [] }
      // What `start` does before it runs.
      await vitest.standalone()
      await vitest.runTestSpecifications([...files])
    }
    const first = reporter.counted()
    if (first === undefined) return NEVER_ENDED
    const files = again ? secondTries(first.files) : []
    if (files.length === 0) return endOf(first)
    say(`A second try, now that the others have ended: ${files.join(' ')}`)
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

const endOf = (first: Counted, second?: Counted): PartOutcome => {
  const { files, unsteady } = afterSecondTries(first.files, second?.files ?? [])
  const outside = [...first.outside, ...(second?.outside ?? [])]
  return { tally: total([{ passed: 0, failed: outside, skipped: [] }, ...files]), unsteady }
}
