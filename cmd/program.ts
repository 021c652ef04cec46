import { Command, CommanderError, type Option } from 'commander'
import { adapterCommand } from './adapter/command.ts'
import { agentCommand } from './agent/command.ts'
import { apiCommand } from './api/command.ts'
import { claimCommand } from './claim/command.ts'
import { crdsCommand } from './crds/command.ts'
import { fleetCommand } from './fleet/command.ts'
import { hostedCommand } from './hosted/command.ts'
import { managerCommand } from './manager/command.ts'
import { migrateCommand } from './migrate/command.ts'
import { natsCommand } from './nats/command.ts'
import { poolCommand } from './pool/command.ts'
import { securityCommand } from './security/command.ts'
import { sentinelCommand } from './sentinel/command.ts'
import { commandPath, usageError } from './usage.ts'
import { versionCommand } from './version/command.ts'
import { whyCommand } from './why/command.ts'

const ENVIRONMENT = `
Every flag can be given as an environment variable: --log-level is MUSTER_LOG_LEVEL. The command line wins.
`

/** `muster` with its commands, as yet unparsed. */
export const program = (): Command => {
  const muster = new Command('muster')
    .description('Keeps a fleet of clusters and devices in the state that Git declares.')
    .option('--version', 'print what was built, from which commit')
    .addHelpText('after', ENVIRONMENT)
    // What follows a command is its own, though its parent may have flags of the same names, as `agent enroll` has.
    .enablePositionalOptions()
  for (const command of [
    managerCommand(),
    apiCommand(),
    adapterCommand(),
    poolCommand(),
    claimCommand(),
    hostedCommand(),
    sentinelCommand(),
    securityCommand(),
    agentCommand(),
    fleetCommand(),
    natsCommand(),
    whyCommand(),
    migrateCommand(),
    crdsCommand(),
    versionCommand(),
  ])
    muster.addCommand(command)
  for (const command of withSubcommands(muster)) {
    // Commander would print its own words and exit: here every problem becomes one UsageError.
    command
      .exitOverride()
      .helpCommand(false)
      .configureOutput({ writeErr: () => {} })
      .configureHelp({ optionDescription })
  }
  return muster
}

const withSubcommands = (command: Command): readonly Command[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
]

/** `what it does (default: x; MUSTER_X)`. */
const optionDescription = ({ description, defaultValue, defaultValueDescription, envVar }: Option): string => {
  const otherwise = defaultValue === undefined ? [] : [`default: ${defaultValueDescription}`]
  const extra = [...otherwise, ...(envVar === undefined ? [] : [envVar])]
  return extra.length === 0 ? description : `${description} (${extra.join('; ')})`
}

/** `--version` is the command of that name, and `help` is `--help`, before or after the commands that it is about (GITOPS-54). */
const meantBy = (args: readonly string[], muster: Command): readonly string[] => {
  if (args[0] === '--version') return ['version', ...args.slice(1)]
  const path = commandPath(muster, args)
  const help = args.indexOf('help')
  const words = args.filter((_, at) => at !== help)
  // Another `help` is a value: behind a command that is no group, or behind flags.
  if (help === -1 || help > path.length || (help > 0 && path[help - 1]?.commands.length === 0)) return args
  const unknown = words[path.length]
  return unknown === undefined || unknown.startsWith('-') ? [...words.slice(0, path.length), '--help'] : words
}

/**
 * Runs what the arguments ask for.
 * @param args Without the interpreter and the script.
 * @throws UsageError when they can't be meant, or whatever the command throws.
 */
export const run = async (args: readonly string[]): Promise<void> => {
  const muster = program()
  try {
    await muster.parseAsync(meantBy(args, muster), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // `--help` arrives as an error too, after the text is out.
    if (error.exitCode !== 0) throw usageError(error, muster, args)
  }
}
