/** The two ways in which a tool of this folder fails. Both messages say what to do, or end with what the program said. */

/** What a tool needs is missing, or was named wrongly. */
export class SetupError extends Error {
  override readonly name = 'SetupError'
}

/** A program that a tool runs failed, ended, or was not ready in time. */
export class ProcessError extends Error {
  override readonly name = 'ProcessError'
}
