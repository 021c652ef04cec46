import { LOG_FORMATS, LOG_LEVELS } from '#lib/log/logger.ts'
import { flag } from '#operator/flags/flag.ts'
import { oneOf } from '#operator/flags/values.ts'

/** Flags of every command that runs on and logs. */
export const logFlags = {
  logLevel: flag('LEVEL', `how much to log: ${LOG_LEVELS.join(', ')}`, oneOf(...LOG_LEVELS), 'info'),
  logFormat: flag('FORMAT', 'json for machines, text for people', oneOf(...LOG_FORMATS), 'json'),
}
