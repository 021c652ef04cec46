import { Command } from 'commander'
import { flag, optional } from '#operator/flags/flag.ts'
import { nonEmpty, objectName, oneOf } from '#operator/flags/values.ts'
import { apiServerFlags } from '../api-server-flags.ts'
import { addFlags, readFlags } from '../flag.ts'
import { natsFileFlags } from '../nats-flags.ts'

const drillFlags = {
  natsUrl: flag(
    'URL',
    'NATS server that the fleet keeps its state on; servers of one cluster are separated by commas',
    nonEmpty,
    'nats://127.0.0.1:4222',
  ),
  ...natsFileFlags('the fleet operator'),
  namespace: optional('NAME', 'the namespace whose Deployments are looked at (default: all)', objectName),
  output: flag('FORMAT', 'text for people, json for programs', oneOf('text', 'json'), 'text'),
  ...apiServerFlags,
}

const EXAMPLES = `
Examples:
  muster fleet drill --nats-url=nats://nats.example:4222
  muster fleet drill --namespace=shop --output=json

Nothing is changed. Run it with the release that you are about to install, against the fleet as it is.
Exit codes: 0 it would change nothing, 1 it would write, delete or hold something, or a device has a conflict, 2 a flag can't be used, 3 it could not look.
`

export const drillCommand = (): Command =>
  addFlags(new Command('drill'), drillFlags)
    .description('print what an operator of this release would write and delete if it began now')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const options = readFlags(command, drillFlags)
      const { drill } = await import('./drill.ts')
      const { text, isOpen } = await drill(options)
      process.stdout.write(text)
      if (isOpen) process.exitCode = 1
    })
