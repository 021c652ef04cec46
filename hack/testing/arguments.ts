/** The environment variable that is set in a run of hundreds of files: what serves them all is then worth its preparation. */
export const WHOLE_RUN = 'MUSTER_TEST_WHOLE_RUN'

/** Printed by `npm test -- --help`. */
export const USAGE = `npm test [-- [PATH...] [options]]: the checks, then every test, or those whose files' paths have a PATH in them

  --changed[=COMMIT]  only what the changes since COMMIT can affect; without one, what is not committed
  --no-install        installs no programs of the system's packages; tests that need them skip
  --minutes=N         ends the run after N minutes as failed, with all that it has found until then
  --profile           prints where the core-seconds went, as a run of everything always does
  -t PATTERN, ...     any option of vitest: npm exec -- vitest run --help`

/** What `npm test` understands besides vitest's own arguments. */
export interface TestArguments {
  /** Prints the usage, and runs nothing. */
  readonly help: boolean
  /** Prints where the run's core-seconds went, whatever was run; a whole run always does. */
  readonly profile: boolean
  /** Whether missing programs may be installed from the system's packages. */
  readonly install: boolean
  /** Only what a change since this commit can affect: uncommitted changes for `HEAD`. All tests when undefined. */
  readonly changedSince: string | undefined
  /** After so long the run ends itself. As long as it takes when undefined. */
  readonly minutes: number | undefined
  /** For vitest. */
  readonly rest: readonly string[]
}

/** Takes our own arguments out of a command line: those of `USAGE`. */
export const parseTestArguments = (args: readonly string[]): TestArguments => {
  let help = false
  let profile = false
  let install = true
  let changedSince: string | undefined
  let minutes: number | undefined
  const rest: string[] = []
  for (const arg of args) {
    const changed = /^--changed(?:=(.+))?$/.exec(arg)
    const limit = /^--minutes=(\d+)$/.exec(arg)
    if (arg === '--help' || arg === '-h') help = true
    else if (arg === '--profile') profile = true
    else if (arg === '--no-install') install = false
    else if (limit !== null) minutes = Number(limit[1])
    else if (changed !== null) changedSince = changed[1] ?? 'HEAD'
    else rest.push(arg)
  }
  return { help, profile, install, changedSince, minutes, rest }
}
