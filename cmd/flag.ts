import { type Command, Option } from 'commander'
import { BindingError } from '#operator/binding.ts'
import type { Flag, Flags, Provided, Values } from '#operator/flags/flag.ts'
import { UsageError } from './failure.ts'

const dashed = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** `configName` → `--config-name`. */
export const spelled = (name: string): string => `--${dashed(name)}`

/** `configName` → `MUSTER_CONFIG_NAME`. */
export const variableOf = (name: string): string => `MUSTER_${dashed(name).replaceAll('-', '_').toUpperCase()}`

/** Teaches a command its flags. Values stay texts here; `readFlags` reads them, knowing where each came from. */
export const addFlags = (command: Command, flags: Flags): Command => {
  for (const [name, { value, help, short, default: text, alone }] of Object.entries(flags)) {
    const letter = short === undefined ? '' : `-${short}, `
    const option = new Option(`${letter}${spelled(name)} ${alone === undefined ? `<${value}>` : `[${value}]`}`, help)
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
  const provided: Record<string, unknown> = command.opts()
  const read = (name: string, { read: parse }: Flag<unknown>): unknown => {
    const written = provided[name] as Provided
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
