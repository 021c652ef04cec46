import type { Reporter, TestModule } from 'vitest/node'
import { type Durations, expectedSeconds } from './durations.ts'
import type { FileCost } from './profile.ts'
import { estimateSecondsLeft, type Progress } from './progress.ts'

/** A reporter that knows at any time how far the run is, and at its end what each file took. */
export interface RunReporter extends Reporter {
  /** Undefined before the first file and after the last. */
  progress(): Progress | undefined
  /** Of all files that have ended, also those of earlier runs: a second try counts on its own. */
  costs(): readonly FileCost[]
}

/** @param durations what files took before @param now seconds */
export const runReporter = (durations: Durations, now = () => performance.now() / 1000): RunReporter => {
  let workers = 1
  const begun = new Map<string, number>()
  const costs: FileCost[] = []
  let waiting = new Set<string>()
  let finished: { expected: number; took: number }[] = []
  let files = { done: 0, all: 0 }
  let tests = { passed: 0, failed: 0 }
  const expected = (file: string) => expectedSeconds(file, durations)

  const end = (module: TestModule) => {
    const file = module.relativeModuleId
    const beganAt = begun.get(file)
    begun.delete(file)
    waiting.delete(file)
    files = { ...files, done: files.done + 1 }
    if (beganAt === undefined) return
    const { collectDuration, setupDuration } = module.diagnostic()
    const seconds = now() - beganAt
    finished.push({ expected: expected(file), took: seconds })
    costs.push({ file, seconds, loading: (collectDuration + setupDuration) / 1000, cost: module.meta().cost })
  }
  return {
    costs: () => costs,
    progress: () =>
      files.all === 0
        ? undefined
        : {
            files,
            tests,
            running: [...begun].map(([file, at]) => ({ file, seconds: now() - at })),
            secondsLeft: estimateSecondsLeft({
              finished,
              running: [...begun].map(([file, at]) => ({ expected: expected(file), ran: now() - at })),
              waiting: [...waiting].map(expected),
              workers,
            }),
          },
    onInit: (vitest) => {
      // vitest decides, when nothing is set.
      workers = Number(vitest.config.maxWorkers) || 1
    },
    onTestRunStart: (specifications) => {
      begun.clear()
      finished = []
      waiting = new Set(
        specifications.map(
          ({ testModule, moduleId, project }) =>
            testModule?.relativeModuleId ?? moduleId.slice(project.config.root.length + 1),
        ),
      )
      files = { done: 0, all: waiting.size }
      tests = { passed: 0, failed: 0 }
    },
    onTestModuleQueued: ({ relativeModuleId: file }) => {
      waiting.delete(file)
      begun.set(file, now())
    },
    onTestCaseResult: (test) => {
      const { state } = test.result()
      if (state === 'passed') tests = { ...tests, passed: tests.passed + 1 }
      if (state === 'failed') tests = { ...tests, failed: tests.failed + 1 }
    },
    onTestModuleEnd: end,
    onTestRunEnd: () => {
      files = { done: 0, all: 0 }
    },
  }
}
