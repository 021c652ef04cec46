/** The environment variable that is set in a run of hundreds of files: what serves them all is then worth its preparation. */
export const WHOLE_RUN = 'MUSTER_TEST_WHOLE_RUN'

/** What `npm test` understands besides vitest's own arguments. */
export interface TestArguments {
  /** Prints where the run's core-seconds went, whatever was run; a whole run always does. */
  readonly profile: boolean
  /** Whether missing programs may be installed from the system's packages. */
  readonly install: boolean
  /** Only what a change since this commit can affect: uncommitted changes for `HEAD`. All tests when undefined. */
  readonly changedSince: string | undefined
  /** For vitest. */
  readonly rest: readonly string[]
}

/** Takes our own arguments out of a command line: `--profile`, `--no-install`, `--changed`, `--changed=<commit>`. */
export const parseTestArguments = (args: readonly string[]): TestArguments => {
  let profile = false
  let install = true
  let changedSince: string | undefined
  const rest: string[] = []
  for (const arg of args) {
    const changed = /^--changed(?:=(.+))?$/.exec(arg)
    if (arg === '--profile') profile = true
    else if (arg === '--no-install') install = false
    else if (changed !== null) changedSince = changed[1] ?? 'HEAD'
    else rest.push(arg)
  }
  return { profile, install, changedSince, rest }
}
