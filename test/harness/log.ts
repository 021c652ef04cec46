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

/** How long the reconciles of an object waited, in milliseconds, as such lines of its manager say it. @param key `namespace/name` */
export const waitsOf = (lines: readonly string[], key: string): readonly number[] =>
  lines.flatMap((line) => {
    const [, fields] = /^debug handler waits (\{.*\})$/.exec(line) ?? []
    const { object, delay } = fields === undefined ? {} : JSON.parse(fields)
    return object === key ? [delay] : []
  })
