import { Command } from 'commander'
import { required, several } from '#operator/flags/flag.ts'
import { nonEmpty } from '#operator/flags/values.ts'
import { deviceName } from '../agent/values.ts'
import { addFlags, readFlags } from '../flag.ts'
import { drillCommand } from './drill-command.ts'
import { previewCommand } from './preview-command.ts'

export const credentialsFlags = {
  device: several('NAME', 'a device that gets credentials; the flag may be given several times', deviceName),
  output: required('DIRECTORY', 'where keys and configuration are written; what is there is kept', nonEmpty),
}

const EXAMPLES = `
Examples:
  muster fleet credentials --device pump-17 --device pump-18 --output fleet-credentials
  muster fleet credentials --device pump-19 --output fleet-credentials     one more; the others keep their keys
`

/** What the fleet needs besides its custom resources, and what can be asked of it beforehand. */
export const fleetCommand = (): Command =>
  new Command('fleet')
    .description('prepare what the fleet of devices needs, and try out its Deployments')
    .addCommand(credentialsCommand())
    .addCommand(previewCommand())
    .addCommand(drillCommand())

const credentialsCommand = (): Command =>
  addFlags(new Command('credentials'), credentialsFlags)
    .description(
      'make keys for devices, and the configuration by which a NATS server allows each its own entries alone',
    )
    .addHelpText('after', EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const { device, output } = readFlags(command, credentialsFlags)
      const { writeCredentials } = await import('./credentials.ts')
      for (const line of await writeCredentials(device, output)) process.stdout.write(`${line}\n`)
    })
