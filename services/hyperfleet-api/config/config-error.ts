import { errorOf } from '#lib/errors/error-of.ts'
import type { ApiErrors } from '../errors.ts'

/** A configuration file that can't be meant; the message is one line that says what, where, and what to write instead. */
export class ConfigError extends errorOf<ApiErrors>('ConfigError') {}
