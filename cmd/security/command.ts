import { Command } from 'commander'
import { flag, type Values } from '#operator/flags/flag.ts'
import { names, oneOf } from '#operator/flags/values.ts'
import { apiServerFlags } from '../api-server-flags.ts'
import { addFlags, readFlags } from '../flag.ts'

export const securityCheckFlags = {
  output: flag('FORMAT', 'text for people, json for programs', oneOf('text', 'json'), 'text'),
  trustedSubjects: flag(
    'NAMES',
    'users, and groups as group:NAME, that an administrator trusts with rights in Muster’s namespace, separated by commas; who has every right in the cluster is one anyway',
    names,
    '',
  ),
  ...apiServerFlags,
}

export type CheckOptions = Values<typeof securityCheckFlags>

const EXAMPLES = `
Examples:
  muster security check
  muster security check --trusted-subjects=group:platform,system:serviceaccount:monitoring:prometheus --output=json

It reads objects and changes nothing. docs/security.md has the table, and what can't be seen from here.
Exit codes: 0 nothing to report, 1 something was found, 2 a flag can't be used, 3 it could not look, or not at everything.
`

const checkCommand = (): Command =>
  addFlags(new Command('check'), securityCheckFlags)
    .description('print what of the table of roles does not hold in an install, and how to put it right')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const options = readFlags(command, securityCheckFlags)
      const { checkSecurity } = await import('./check.ts')
      const { text, exitCode } = await checkSecurity(options)
      process.stdout.write(text)
      process.exitCode = exitCode
    })

export const securityCommand = (): Command =>
  new Command('security').description('look at what holds an install').addCommand(checkCommand())
