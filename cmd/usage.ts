import type { Command, CommanderError } from 'commander'
import { hintAt } from '#lib/text/nearest.ts'
import { UsageError } from './failure.ts'

/** The quoted word of one of commander's messages: `error: unknown option '--confg=x'` → `--confg=x`. */
const quotedIn = (message: string): string => /'([^']*)'/.exec(message)?.[1] ?? ''

/** Commander's problem with the arguments in our words: what is wrong, and the nearest valid choice or where the valid ones are. */
export const usageError = (error: CommanderError, muster: Command, args: readonly string[]): UsageError => {
  const path = commandPath(muster, args)
  const command = path.at(-1) ?? muster
  const commands = command.commands.map((candidate) => candidate.name())
  const flags = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? '')
  const help = `"${['muster', ...path.map((part) => part.name())].join(' ')} --help" lists what is`
  return new UsageError(problem(error, commands, flags, help), { cause: error })
}

/** The commands that the arguments name, from the outermost to the innermost. */
export const commandPath = (muster: Command, args: readonly string[]): readonly Command[] => {
  const path: Command[] = []
  for (const arg of args) {
    const next = (path.at(-1) ?? muster).commands.find((candidate) => candidate.name() === arg)
    if (next !== undefined) path.push(next)
  }
  return path
}

const problem = (
  { code, message }: CommanderError,
  commands: readonly string[],
  flags: readonly string[],
  help: string,
): string => {
  const word = quotedIn(message)
  switch (code) {
    case 'commander.help':
      return `name a command (valid: ${commands.join(', ')})`
    case 'commander.unknownCommand':
      return `unknown command ${word}${hintAt(word, commands)} (valid: ${commands.join(', ')})`
    case 'commander.unknownOption': {
      const [flag = word] = word.split('=')
      return `unknown flag ${flag}${hintAt(flag, flags)} (${help})`
    }
    case 'commander.optionMissingArgument':
      return `${word.split(' ')[0]} needs a value (${help})`
    case 'commander.excessArguments':
      return tooMany(message, commands, help)
    default:
      return `${message.replace(/^error: /, '')} (${help})`
  }
}

/** `too many arguments for 'why'. Expected 1 argument but got 2: clusters/a, b.`: the first that is too much, and what may be written. */
const tooMany = (message: string, commands: readonly string[], help: string): string => {
  const [, expected = '0', given = ''] = /Expected (\d+) arguments? but got \d+: (.*?)\.?$/.exec(message) ?? []
  const word = given.split(', ')[Number(expected)] ?? given
  const instead = expected === '0' ? 'everything is said by flags' : `${expected} is all that is taken`
  return `unexpected argument ${word}${hintAt(word, commands) || `: ${instead}`} (${help})`
}
