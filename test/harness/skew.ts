import { join } from 'node:path'

/** Milliseconds, ahead where positive. */
export const SKEW_VARIABLE = 'MUSTER_TEST_CLOCK_SKEW_MS'

/** A file with them, in place of the variable: what is written into it counts from then on. */
export const SKEW_FILE_VARIABLE = 'MUSTER_TEST_CLOCK_SKEW_FILE'

/** The environment of a process whose clock is ahead by so many milliseconds. */
export const skewedBy = (milliseconds: number): NodeJS.ProcessEnv => ({
  NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${join(import.meta.dirname, 'skewed-clock.ts')}`,
  [SKEW_VARIABLE]: String(milliseconds),
})
