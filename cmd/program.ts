import { Command, CommanderError } from 'commander'
import { apiCommand } from './api/command.ts'
import { crdsCommand } from './crds/command.ts'
import { UsageError } from './failure.ts'
import { managerCommand } from './manager/command.ts'
import { versionCommand } from './version/command.ts'

const ENVIRONMENT = `
Every flag can be given as an environment variable: --log-level is MUSTER_LOG_LEVEL. The command line wins.
`

/** `muster` with its commands, as yet unparsed. */
export const program = (): Command => {
  const muster = new Command('muster')
    .description('Keeps a fleet of clusters and devices in the state that Git declares.')
    .addHelpText('after', ENVIRONMENT)
    .helpCommand(false)
  for (const command of [managerCommand(), apiCommand(), crdsCommand(), versionCommand()]) muster.addCommand(command)
  for (const command of [muster, ...muster.commands]) {
    // Commander would print its own words and exit: here every problem becomes one UsageError.
    command
      .exitOverride()
      .configureOutput({ writeErr: () => {} })
      .allowExcessArguments(false)
  }
  return muster
}

/** Commander's words for a problem in ours: one line, with the nearest valid choice or the way to the valid ones. */
const usage = (error: CommanderError, muster: Command, args: readonly string[]): UsageError => {
  const names = muster.commands.map((command) => command.name())
  const valid = `valid: ${names.join(', ')}`
  const command = names.find((name) => args.includes(name))
  const help = `"muster${command === undefined ? '' : ` ${command}`} --help" lists what is`
  if (error.code === 'commander.help') return new UsageError(`name a command (${valid})`, { cause: error })

  const text = error.message
    .replace(/^error: /, '')
    .replace('unknown option', 'unknown flag')
    .replace(/^option '(\S+).*' argument missing$/, '$1 needs a value')
    .replace(/\n?\(Did you mean (.*)\?\)/, '; did you mean $1?')
  const choices = error.code === 'commander.unknownCommand' ? valid : help
  return new UsageError(`${text} (${choices})`, { cause: error })
}

/**
 * Runs what the arguments ask for.
 * @param args Without the interpreter and the script.
 * @throws UsageError when they can't be meant, or whatever the command throws.
 */
export const run = async (args: readonly string[]): Promise<void> => {
  const muster = program()
  try {
    await muster.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // `--help` arrives as an error too, after the text is out.
    if (error.exitCode !== 0) throw usage(error, muster, args)
  }
}
