import { errorOf } from '#lib/errors/error-of.ts'
import { API_ERRORS } from '../errors.ts'

/** A configuration file, or a setting of it, that can't be meant; the message is one line that says what, where, and what to write instead. */
export class ConfigError extends errorOf(API_ERRORS, 'ConfigError') {}
