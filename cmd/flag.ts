import { isDeepStrictEqual } from 'node:util'
import { type Command, Option } from 'commander'
import { createLogger, type LogOptions } from '#lib/log/logger.ts'
import { BindingError } from '#operator/binding.ts'
import type { Flag, Flags, Provided, Values } from '#operator/flags/flag.ts'
import { UsageError } from './failure.ts'

const dashed = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** `configName` → `--config-name`. */
export const spelled = (name: string): string => `--${dashed(name)}`

/** `configName` → `MUSTER_CONFIG_NAME`. */
export const variableOf = (name: string): string => `MUSTER_${dashed(name).replaceAll('-', '_').toUpperCase()}`

/** Letters that people know from kubectl, of every command that has the flag (GITOPS-54). */
export const letterOf = (name: string): '-n' | undefined => (name === 'namespace' ? '-n' : undefined)

/** Teaches a command its flags. Values stay texts here; `readFlags` reads them, knowing where each came from. */
export const addFlags = (command: Command, flags: Flags): Command => {
  for (const [name, each] of Object.entries(flags)) {
    const { default: text, formerly = [] } = each
    const option = optionOf(name, each, letterOf(name))
    if (text !== undefined) option.default(text, text === '' ? 'none' : text)
    command.addOption(option)
    for (const former of formerly) command.addOption(optionOf(former, each).hideHelp())
  }
  return command
}

const optionOf = (name: string, { value, help, alone }: Flag<unknown>, letter?: string): Option => {
  const option = new Option(
    `${letter === undefined ? '' : `${letter}, `}${spelled(name)} ${alone === undefined ? `<${value}>` : `[${value}]`}`,
    help,
  )
  option.env(variableOf(name))
  if (alone !== undefined) option.preset(alone)
  return option
}

/** What was written for a flag. */
interface Written {
  /** The flag or the variable, by the name that was written. */
  readonly where: string
  /** The same by the name that it has now. */
  readonly instead: string
  readonly provided: Provided
}

/**
 * Reads what was given on the command line, else in the environment, else the defaults. Former names of flags are warned about.
 * @throws UsageError that names the flag or the variable. It does not repeat the value where a parser keeps it to itself.
 */
export const readFlags = <F extends Flags>(command: Command, flags: F): Values<F> => {
  const written = Object.entries(flags).map(([name, each]) => ({ name, each, uses: writtenFor(command, name, each) }))
  const values = Object.fromEntries(
    written.map(({ name, each, uses }) => [name, readOne(name, each, uses)]),
  ) as Values<F>
  const former = written.flatMap(({ uses }) => uses.filter(({ where, instead }) => where !== instead))
  if (former.length > 0) warn(former, values)
  return values
}

/** On the command line, or else in the environment. */
const writtenFor = (command: Command, name: string, { formerly = [] }: Flag<unknown>): readonly Written[] => {
  const by = (source: string, spell: (name: string) => string): readonly Written[] =>
    [name, ...formerly]
      .filter((each) => command.getOptionValueSource(each) === source)
      .map((each) => ({ where: spell(each), instead: spell(name), provided: command.getOptionValue(each) as Provided }))
  const onLine = by('cli', spelled)
  return onLine.length > 0 ? onLine : by('env', variableOf)
}

/** @throws UsageError */
const readOne = (name: string, each: Flag<unknown>, uses: readonly Written[]): unknown => {
  const [use = { where: spelled(name), instead: spelled(name), provided: each.default }, ...others] = uses
  const other = others.find(({ provided }) => !isDeepStrictEqual(provided, use.provided))
  if (other !== undefined)
    throw new UsageError(
      `${use.where} and ${other.where} are one flag, and have different values: write ${use.instead} alone`,
    )
  try {
    return each.read(use.provided, use.where)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new UsageError(error instanceof BindingError ? message : `${use.where}: ${message}`, { cause: error })
  }
}

/** In the log of a program that has one, else as a line for a person. */
const warn = (former: readonly Written[], values: Partial<LogOptions>): void => {
  const log = 'logFormat' in values ? createLogger(values, process.stderr) : undefined
  for (const { where, instead } of former) {
    const message = `${where} is the former name of ${instead}, and the next release knows it no more: write ${instead}`
    if (log === undefined) process.stderr.write(`muster: ${message}\n`)
    else log.warn(message)
  }
}
