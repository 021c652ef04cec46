import pino, { type DestinationStream } from 'pino'
import { redact } from './redact.ts'

/** What the runtime and controllers need of a logger. Fields, not text, carry the values. */
export interface Logger {
  debug(message: string, fields?: object): void
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
  error(message: string, fields?: object): void
  /** A logger whose every line also carries these fields. */
  child(fields: object): Logger
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export const LOG_FORMATS = ['json', 'text'] as const

export interface LogOptions {
  readonly logLevel: (typeof LOG_LEVELS)[number]
  readonly logFormat: (typeof LOG_FORMATS)[number]
}

/** The three fields that every line has, in the order in which they are written. */
interface Line {
  readonly level: string
  readonly time: string
  readonly msg: string
}

/** `12:00:01.250 INFO  pulse created  config=us-east reason=New`, with an error's stack and remedy below. */
const asText = (json: string): string => {
  const { level, time, msg, ...fields }: Line & Record<string, unknown> = JSON.parse(json)
  const stacks: string[] = []
  const shown = Object.entries(fields).map(([key, value]) => {
    if (typeof value !== 'object' || value === null || !('stack' in value)) return `${key}=${shortly(value)}`
    stacks.push(String(value.stack).replace(/^/gm, '    '))
    if ('remedy' in value) stacks.push(`    To do: ${String(value.remedy)}`)
    return `${key}=${shortly('message' in value ? value.message : '')}`
  })
  const head = `${time.slice(11, 23)} ${level.toUpperCase().padEnd(5)} ${msg}`
  return `${[[head, ...shown].join('  '), ...stacks].join('\n')}\n`
}

const shortly = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)

/**
 * A logger that writes one line an entry: JSON with `level`, `time` (RFC 3339), `msg` and the fields, or text.
 * @param output Where lines go; standard error when left out, synchronously, so that nothing is lost at exit.
 */
export const createLogger = (
  { logLevel = 'info', logFormat = 'json' }: Partial<LogOptions> = {},
  output: DestinationStream = pino.destination({ fd: 2, sync: true }),
): Logger => {
  const destination = logFormat === 'json' ? output : { write: (json: string) => output.write(asText(json)) }
  return wrap(
    pino(
      {
        level: logLevel,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (level) => ({ level }), log: redact },
      },
      destination,
    ),
  )
}

const wrap = (logger: pino.Logger): Logger => ({
  debug: (message, fields = {}) => logger.debug(fields, message),
  info: (message, fields = {}) => logger.info(fields, message),
  warn: (message, fields = {}) => logger.warn(fields, message),
  error: (message, fields = {}) => logger.error(fields, message),
  child: (fields) => wrap(logger.child(redact(fields))),
})
