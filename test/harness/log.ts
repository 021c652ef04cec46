import type { Logger } from '#operator/model/log.ts'

/** Keeps each line as `level message {fields}`. */
export const recorder = (lines: string[]): Logger => {
  const at = (level: string, base: object) => (message: string, fields?: object) => {
    lines.push(`${level} ${message} ${JSON.stringify({ ...base, ...fields })}`)
  }
  const logger = (base: object): Logger => ({
    debug: at('debug', base),
    info: at('info', base),
    warn: at('warn', base),
    error: at('error', base),
    child: (fields) => logger({ ...base, ...fields }),
  })
  return logger({})
}
