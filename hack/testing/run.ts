import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { readDurations, writeDurations } from './durations.ts'
import { NEVER_ENDED, type PartOutcome, type PartSelection, runPart, type Select } from './part.ts'
import { processCosts } from './process-costs.ts'
import type { FileCost, RunCost } from './profile.ts'
import { type RunReporter, runReporter } from './run-reporter.ts'
import { type Tally, total } from './tally.ts'

/** What a run of tests came to, what failed in it only once, and what it took. */
export interface RunEnd {
  readonly tally: Tally
  readonly unsteady: readonly string[]
  readonly cost: RunCost
}

/** Tests that run together, at the same time as other parts. */
export interface TestPart extends Pick<PartSelection, 'projects'> {
  /** Settles when all is done that can be done for the part to have what it needs; its tests say what they lack. */
  ready?(): Promise<void>
}

/** Which tests to run. */
export interface TestSelection extends Omit<PartSelection, 'projects'> {
  /** The first runs in this process, each other one in a process of its own. One that has all when undefined. */
  readonly parts?: readonly [TestPart, ...TestPart[]]
  /** Of the first part. */
  readonly select?: Select
}

/** What a part came to, and what its files took. */
export interface PartEnd {
  readonly outcome: PartOutcome
  readonly files: readonly FileCost[]
}

/** Milliseconds between two looks at what processes cost. */
const LOOK_EVERY = 2_000

const EVERYTHING: readonly [TestPart] = [{ projects: [] }]

/** Runs vitest's tests, and stops the servers that they share. Says what went wrong, and rejects only for options that vitest refuses. */
export const runTests = async (selection: TestSelection, say: (line: string) => void): Promise<RunEnd> => {
  const { parts: [here, ...elsewhere] = EVERYTHING, select, ...rest } = selection
  const startedAt = performance.now()
  // vitest and what its tests share change it.
  const env = { ...process.env }
  const timing = runReporter(readDurations())
  const processes = processCosts()
  const looking = setInterval(processes.look, LOOK_EVERY)
  const ends = await Promise.all([
    runHere(here, { ...rest, select }, timing, say),
    ...elsewhere.map((part) => runElsewhere(part, rest, env, say)),
  ])
  processes.look()
  clearInterval(looking)
  const files = ends.flatMap((end) => end.files)
  // A part of a file says nothing of how long the file takes.
  const whole = selection.options.testNamePattern === undefined
  if (whole) writeDurations(Object.fromEntries(files.map(({ file, seconds }) => [file, seconds])))
  return {
    tally: total(ends.map(({ outcome }) => outcome.tally)),
    unsteady: ends.flatMap(({ outcome }) => outcome.unsteady),
    cost: {
      files,
      programs: processes.programs(),
      total: processes.total(),
      seconds: (performance.now() - startedAt) / 1000,
    },
  }
}

const runHere = async (
  { projects, ready }: TestPart,
  rest: Omit<TestSelection, 'parts'>,
  timing: RunReporter,
  say: (line: string) => void,
): Promise<PartEnd> => {
  await ready?.()
  const outcome = await runPart({ ...rest, projects }, timing, say)
  return { outcome, files: timing.costs() }
}

/** In a process of its own: vitest's settings of one part, such as the environment, are not for the other. */
const runElsewhere = async (
  { projects, ready }: TestPart,
  rest: Omit<PartSelection, 'projects'>,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<PartEnd> => {
  await ready?.()
  const part = fork(join(import.meta.dirname, 'part-process.ts'), {
    env,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  // By way of our own streams, whose last line may be a live one.
  part.stdout?.on('data', (chunk) => void process.stdout.write(chunk))
  part.stderr?.on('data', (chunk) => void process.stderr.write(chunk))
  let end: PartEnd | undefined
  part.on('message', (message) => {
    end = message as PartEnd
  })
  part.send({ ...rest, projects } satisfies PartSelection)
  const [code, signal] = await once(part, 'close')
  if (end === undefined)
    say(`The process of ${projects.join(', ')} ended before its tests (${signal ?? `exit ${code}`}).`)
  return end ?? { outcome: NEVER_ENDED, files: [] }
}
