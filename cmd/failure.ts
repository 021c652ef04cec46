/** What ends a command. Each is shown as one line: what is wrong, where, and what to write or do instead. */

import { errorOf } from '#lib/errors/error-of.ts'
import type { CmdErrors } from './errors.ts'

/** What was typed can't be meant: exit code 2. */
export class UsageError extends errorOf<CmdErrors>('UsageError') {}

/** What was typed is fine, the surroundings are not: exit code 1. */
export class Failure extends errorOf<CmdErrors>('Failure') {}

/** Kubernetes' and most tools' convention: 2 for wrong usage, 1 for everything else. */
export const exitCodeOf = (error: unknown): 1 | 2 => (error instanceof UsageError ? 2 : 1)
