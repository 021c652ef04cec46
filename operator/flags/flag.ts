/** Flags as data: what a program or a controller can be told. Commands learn and read them in cmd/flag.ts. */

/** What a value of a flag takes away of what holds an install, and what to do about it. SECURITY-21. */
export interface Weakness {
  /** In words of the value. */
  readonly what: string
  readonly todo: string
}

/** One flag of a command: how it is written, explained and read. Its name is its key in the command's table of flags. */
export interface Flag<T> {
  /** What stands for the value in `--help`, e.g. `NAME`. */
  readonly value: string
  readonly help: string
  /** Names that it had until the last release, in camelCase. They are taken once more, with a warning, and shown nowhere. */
  readonly formerly?: readonly string[]
  readonly default: string | undefined
  /** What the flag means when written without a value; undefined when it needs one. */
  readonly alone: string | undefined
  /** @throws Error whose message says what to write instead. */
  readonly read: (provided: Provided, where: string) => T
  /** What a value weakens, which `muster security check` reports; undefined where none does. */
  weakness?(value: T): Weakness | undefined
}

/** What was written: several texts only where a flag may be given several times. */
export type Provided = string | readonly string[] | undefined

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

/** A flag that has a value even when none is given. */
export const flag = <T>(value: string, help: string, parse: Parse<T>, otherwise: string, alone?: string): Flag<T> => ({
  value,
  help,
  default: otherwise,
  alone,
  read: (provided, where) => parse(textOf(provided) ?? otherwise, where),
})

/** A flag that is undefined unless given. */
export const optional = <T>(value: string, help: string, parse: Parse<T>): Flag<T | undefined> => ({
  value,
  help,
  default: undefined,
  alone: undefined,
  read: (provided, where) => {
    const text = textOf(provided)
    return text === undefined ? undefined : parse(text, where)
  },
})

/** The same flag, some values of which weaken what holds an install: said beside its meaning, and reported by `muster security check`. */
export const weakening = <T>(flag: Flag<T>, weakness: (value: T) => Weakness | undefined): Flag<T> => ({
  ...flag,
  weakness,
})

/** A flag that may be given several times, or once with several values; at least one is needed. */
export const several = <T>(value: string, help: string, parse: Parse<T>): Flag<readonly T[]> => ({
  value: `${value}...`,
  help,
  default: undefined,
  alone: undefined,
  read: (provided, where) => {
    if (provided === undefined) throw new Error('is needed at least once')
    return [provided].flat().map((text) => parse(text, where))
  },
})

/** The same, and none is fine. */
export const anyNumber = <T>(value: string, help: string, parse: Parse<T>): Flag<readonly T[]> => {
  const those = several(value, help, parse)
  return { ...those, read: (provided, where) => (provided === undefined ? [] : those.read(provided, where)) }
}

/** A flag that must be given. */
export const required = <T>(value: string, help: string, parse: Parse<T>): Flag<T> => ({
  ...optional(value, help, parse),
  read: (provided, where) => {
    const text = textOf(provided)
    if (text === undefined) throw new Error('is needed')
    return parse(text, where)
  },
})

const textOf = (provided: Provided): string | undefined => (typeof provided === 'string' ? provided : provided?.at(-1))

/** A flag that is off unless given; `--x`, `--x=true` and `--x=false` all say something. */
export const toggle = (help: string): Flag<boolean> => flag('BOOL', help, boolean, 'false', 'true')

const boolean = (text: string): boolean => {
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  throw new Error(`${JSON.stringify(text)} is neither true nor false`)
}
