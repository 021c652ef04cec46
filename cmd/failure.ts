/** What ends a command. Each is shown as one line: what is wrong, where, and what to write or do instead. */

import { errorOf, remedyOf } from '#lib/errors/error-of.ts'
import { CMD_ERRORS } from './errors.ts'

/** What was typed can't be meant: exit code 2. */
export class UsageError extends errorOf(CMD_ERRORS, 'UsageError') {}

/** What was typed is fine, the surroundings are not: exit code 1. */
export class Failure extends errorOf(CMD_ERRORS, 'Failure') {}

/** Nothing is known of what a command was to look at: exit code 3, as 1 is an answer there. */
export class LookFailure extends errorOf(CMD_ERRORS, 'LookFailure') {}

/** One line: what is wrong and, when the message does not say so by itself, what the catalogue of errors says to do. */
export const reasonOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message || error.name : String(error)
  const remedy = remedyOf(error)
  return [message, ...(remedy === undefined ? [] : [`To do: ${remedy}`])].join('. ').replaceAll(/\s*\n\s*/g, ' ')
}

/** Kubernetes' and most tools' convention: 2 for wrong usage, 1 for everything else; 3 is for what could not be looked at. */
export const exitCodeOf = (error: unknown): 1 | 2 | 3 => {
  if (error instanceof UsageError) return 2
  return error instanceof LookFailure ? 3 : 1
}
