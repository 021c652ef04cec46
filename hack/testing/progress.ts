/** How far a run of test files is. Times are seconds. */
export interface Progress {
  readonly files: { readonly done: number; readonly all: number }
  readonly tests: { readonly passed: number; readonly failed: number }
  /** What runs now, and for how long. */
  readonly running: readonly { readonly file: string; readonly seconds: number }[]
  readonly secondsLeft: number
}

/** What the time left is guessed from. Times are seconds. */
export interface Speed {
  readonly finished: readonly { readonly expected: number; readonly took: number }[]
  readonly running: readonly { readonly expected: number; readonly ran: number }[]
  /** What files take that have not begun. */
  readonly waiting: readonly number[]
  readonly workers: number
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/** So much must have been expected of files before what they took says how fast this run is; in seconds. */
const ENOUGH_TO_KNOW_THE_PACE = 30

/**
 * The time until the last file ends, in seconds: by what files took before, at the pace of this run so far. Running ones count too,
 * or the first to end, which are the short ones, would make a run look short whose files were never run before.
 */
export const estimateSecondsLeft = ({ finished, running, waiting, workers }: Speed): number => {
  const expected = sum([
    ...finished.map((file) => file.expected),
    ...running.map((file) => Math.min(file.expected, file.ran)),
  ])
  const took = sum([...finished.map((file) => file.took), ...running.map((file) => file.ran)])
  const speed = expected < ENOUGH_TO_KNOW_THE_PACE ? 1 : took / expected
  const rests = [
    ...running.map((file) => Math.max(0, file.expected * speed - file.ran)),
    ...waiting.map((seconds) => seconds * speed),
  ]
  return Math.max(0, sum(rests) / workers, ...rests)
}

/** 75 is `1 min 15 s`. */
export const describeSeconds = (seconds: number): string => {
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  return whole < 600 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${Math.round(whole / 60)} min`
}

/** Without what nearly all paths have: `adapter/life`. */
const shortName = (file: string): string => file.replace(/^test\/(integration\/)?/, '').replace(/\.test\.ts$/, '')

/** One line: `41 of 172 files, 2310 tests passed, 1 failed; about 9 min left; now docs/commands (1 min 32 s), fleet/recovery (12 s)`. */
export const describeProgress = ({ files, tests, running, secondsLeft }: Progress): string => {
  const failed = tests.failed === 0 ? '' : `, ${tests.failed} failed`
  const now = running
    .toSorted((a, b) => b.seconds - a.seconds)
    .map(({ file, seconds }) => `${shortName(file)} (${describeSeconds(seconds)})`)
  return [
    `${files.done} of ${files.all} files, ${tests.passed} tests passed${failed}`,
    // Nothing is left of files that take longer than ever: then it is unknown.
    ...(secondsLeft >= 1 ? [`about ${describeSeconds(secondsLeft)} left`] : []),
    ...(now.length > 0 ? [`now ${now.join(', ')}`] : []),
  ].join('; ')
}
