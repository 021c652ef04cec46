import { type Command, Option } from 'commander'
import { BindingError } from '#operator/binding.ts'
import { UsageError } from './failure.ts'

/** One flag of a command: how it is written, explained and read. Its name is its key in the command's table of flags. */
export interface Flag<T> {
  /** What stands for the value in `--help`, e.g. `NAME`. */
  readonly value: string
  readonly help: string
  readonly default: string | undefined
  /** What the flag means when written without a value; undefined when it needs one. */
  readonly alone: string | undefined
  /** @throws Error whose message says what to write instead. */
  readonly read: (given: Given, where: string) => T
}

/** What was written: several texts only where a flag may be given several times. */
type Given = string | readonly string[] | undefined

/**
 * Reads a value.
 * @param where The flag or the variable that it was given by.
 * @throws Error whose message says what to write instead.
 */
export type Parse<T> = (text: string, where: string) => T

/** A command's flags by camelCase name: `configName` is `--config-name` and `MUSTER_CONFIG_NAME`. */
export type Flags = Readonly<Record<string, Flag<unknown>>>

/** What a table of flags reads to. */
export type Values<F extends Flags> = { readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never }

/** A flag that has a value even when nobody gives one. */
export const flag = <T>(value: string, help: string, parse: Parse<T>, otherwise: string, alone?: string): Flag<T> => ({
  value,
  help,
  default: otherwise,
  alone,
  read: (given, where) => parse(textOf(given) ?? otherwise, where),
})

/** A flag that is undefined unless given. */
export const optional = <T>(value: string, help: string, parse: Parse<T>): Flag<T | undefined> => ({
  value,
  help,
  default: undefined,
  alone: undefined,
  read: (given, where) => {
    const text = textOf(given)
    return text === undefined ? undefined : parse(text, where)
  },
})

/** A flag that may be given several times, or once with several values; at least one is needed. */
export const several = <T>(value: string, help: string, parse: Parse<T>): Flag<readonly T[]> => ({
  value: `${value}...`,
  help,
  default: undefined,
  alone: undefined,
  read: (given, where) => {
    if (given === undefined) throw new Error('is needed at least once')
    return [given].flat().map((text) => parse(text, where))
  },
})

/** A flag that must be given. */
export const required = <T>(value: string, help: string, parse: Parse<T>): Flag<T> => ({
  ...optional(value, help, parse),
  read: (given, where) => {
    const text = textOf(given)
    if (text === undefined) throw new Error('is needed')
    return parse(text, where)
  },
})

const textOf = (given: Given): string | undefined => (typeof given === 'string' ? given : given?.at(-1))

/** A flag that is off unless given; `--x`, `--x=true` and `--x=false` all say something. */
export const toggle = (help: string): Flag<boolean> => flag('BOOL', help, boolean, 'false', 'true')

const boolean = (text: string): boolean => {
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  throw new Error(`${JSON.stringify(text)} is neither true nor false`)
}

const dashed = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** `configName` → `--config-name`. */
export const spelled = (name: string): string => `--${dashed(name)}`

/** `configName` → `MUSTER_CONFIG_NAME`. */
export const variableOf = (name: string): string => `MUSTER_${dashed(name).replaceAll('-', '_').toUpperCase()}`

/** Teaches a command its flags. Values stay texts here; `readFlags` reads them, knowing where each came from. */
export const addFlags = (command: Command, flags: Flags): Command => {
  for (const [name, { value, help, default: text, alone }] of Object.entries(flags)) {
    const option = new Option(`${spelled(name)} ${alone === undefined ? `<${value}>` : `[${value}]`}`, help)
    option.env(variableOf(name))
    if (text !== undefined) option.default(text, text === '' ? 'none' : text)
    if (alone !== undefined) option.preset(alone)
    command.addOption(option)
  }
  return command
}

/**
 * Reads what was given on the command line, else in the environment, else the defaults.
 * @throws UsageError that names the flag or the variable. It does not repeat the value where a parser keeps it to itself.
 */
export const readFlags = <F extends Flags>(command: Command, flags: F): Values<F> => {
  const given: Record<string, unknown> = command.opts()
  const read = (name: string, { read: parse }: Flag<unknown>): unknown => {
    const written = given[name] as Given
    const where = command.getOptionValueSource(name) === 'env' ? variableOf(name) : spelled(name)
    try {
      return parse(written, where)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      throw new UsageError(error instanceof BindingError ? message : `${where}: ${message}`, { cause: error })
    }
  }
  return Object.fromEntries(Object.entries(flags).map(([name, each]) => [name, read(name, each)])) as Values<F>
}
