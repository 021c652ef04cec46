import { availableParallelism } from 'node:os'
import { type CliOptions, createVitest, type TestSpecification, TestsNotFoundError, type Vitest } from 'vitest/node'
import { readDurations, writeDurations } from './durations.ts'
import { processCosts } from './process-costs.ts'
import type { RunCost } from './profile.ts'
import { type Counted, type CountingReporter, countingReporter } from './reporter.ts'
import { type RunReporter, runReporter } from './run-reporter.ts'
import { showProgress } from './show-progress.ts'
import { afterSecondTries, secondTries, type Tally, total } from './tally.ts'
import { outOfTime, type TimeLimit, timeLimit } from './time-limit.ts'

/** What a run of tests came to, what failed in it only once, and what it took. */
export interface RunEnd {
  readonly tally: Tally
  readonly unsteady: readonly string[]
  readonly cost: RunCost
}

/** Tests that run together. */
export interface TestPart {
  /** Projects of vitest's configuration; none for those that the options name. */
  readonly projects: readonly string[]
  /** Settles when all is done that can be done for the part to have what it needs; its tests say what they lack. */
  ready?(): Promise<void>
}

/** Which tests to run. */
export interface TestSelection {
  /** One after the other: the servers that one shares have stopped before the next begins. One that has all when undefined. */
  readonly parts?: readonly TestPart[]
  /** Parts of files' paths; all files when empty. */
  readonly filter: readonly string[]
  /** vitest's. */
  readonly options: CliOptions
  /** Whether files that fail, should they be few, run a second time when all others have ended. */
  readonly again: boolean
  /** Milliseconds, of `performance.now()`, at which the run ends itself, and has failed. As long as it takes when undefined. */
  readonly endsAt?: number
  /** Of the files that fit the filter, those to run; all when undefined. @param vitest knows what imports what */
  select?(vitest: Vitest, files: readonly TestSpecification[]): Promise<readonly TestSpecification[]>
}

type Outcome = Pick<RunEnd, 'tally' | 'unsteady'>

const NEVER_ENDED: Outcome = {
  tally: { passed: 0, failed: ['the test run did not come to its end'], skipped: [] },
  unsteady: [],
}

/** Milliseconds between two looks at what processes cost. */
const LOOK_EVERY = 2_000

const NO_TIME: Outcome = { tally: outOfTime(undefined), unsteady: [] }

const EVERYTHING: readonly TestPart[] = [{ projects: [] }]

/** Runs vitest's tests, and stops the servers that they share. Says what went wrong, and rejects only for options that vitest refuses. */
export const runTests = async (selection: TestSelection, say: (line: string) => void): Promise<RunEnd> => {
  const startedAt = performance.now()
  const timing = runReporter(readDurations())
  const processes = processCosts()
  const limit = timeLimit(selection.endsAt)
  const looking = setInterval(processes.look, LOOK_EVERY)
  const outcomes: Outcome[] = []
  for (const { projects, ready } of selection.parts ?? EVERYTHING) {
    await ready?.()
    outcomes.push(limit.isOver() ? NO_TIME : await runPart(selection, projects, limit, timing, say))
  }
  processes.look()
  clearInterval(looking)
  // A part of a file says nothing of how long the file takes.
  const whole = selection.options.testNamePattern === undefined
  if (whole) writeDurations(Object.fromEntries(timing.costs().map(({ file, seconds }) => [file, seconds])))
  return {
    tally: total(outcomes.map(({ tally }) => tally)),
    unsteady: outcomes.flatMap(({ unsteady }) => unsteady),
    cost: {
      files: timing.costs(),
      programs: processes.programs(),
      busy: processes.busy(),
      cores: availableParallelism(),
      seconds: (performance.now() - startedAt) / 1000,
    },
  }
}

const runPart = async (
  selection: TestSelection,
  projects: readonly string[],
  limit: TimeLimit,
  timing: RunReporter,
  say: (line: string) => void,
): Promise<Outcome> => {
  const counting = countingReporter()
  const vitest = await createVitest('test', {
    ...selection.options,
    ...(projects.length > 0 && { project: [...projects] }),
    watch: false,
    // Its summary would be a second live line.
    reporters: [['default', { summary: false }], counting, timing],
  })
  let cutOff: Tally | undefined
  const running = runs(vitest, counting, timing, limit, selection, say)
  const ended = await limit.within(running, () => {
    cutOff = outOfTime(timing.progress())
    say("The run's time is over: its tests are told to end.")
    void vitest.cancelCurrentRun('test-failure')
  })
  // Its workers end with this process, and what they started with them (hack/process/reaper.ts).
  if (!ended) return { tally: cutOff ?? outOfTime(undefined), unsteady: [] }
  const { tally, unsteady } = await running
  const failed = [...(cutOff?.failed ?? []), ...tally.failed, ...(await foundAtTheEnd(vitest))]
  return { tally: { ...tally, failed }, unsteady }
}

/** Lines of an error that the summary repeats: those that CI shows of a run are its last. */
const LINES_AT_THE_END = 30

/** Stops what the tests share. What is found then (test/harness/global.ts) fails no test: vitest logs it, and sets the exit code. */
const foundAtTheEnd = async (vitest: Vitest): Promise<readonly string[]> => {
  const errors: Error[] = []
  const { logger } = vitest
  const log = logger.error.bind(logger)
  logger.error = (...logged) => {
    errors.push(...logged.filter((one) => one instanceof Error))
    log(...logged)
  }
  process.exitCode = 0
  await vitest.close()
  if (process.exitCode === 0) return []
  if (errors.length === 0) return ['the end of the run: see above']
  return errors.map(({ message }) => {
    const lines = message.split('\n')
    return `the end of the run: ${lines.slice(0, LINES_AT_THE_END).join('\n  ')}`
  })
}

const runs = async (
  vitest: Vitest,
  reporter: CountingReporter,
  timing: RunReporter,
  limit: TimeLimit,
  { filter, again, select }: TestSelection,
  say: (line: string) => void,
): Promise<Outcome> => {
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
    const files = again && !limit.isOver() ? secondTries(first.files) : []
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

const endOf = (first: Counted, second?: Counted): Outcome => {
  const { files, unsteady } = afterSecondTries(first.files, second?.files ?? [])
  const outside = [...first.outside, ...(second?.outside ?? [])]
  return { tally: total([{ passed: 0, failed: outside, skipped: [] }, ...files]), unsteady }
}
