import { Command } from 'commander'
import { anyNumber, optional, required } from '#operator/flags/flag.ts'
import { nonEmpty } from '#operator/flags/values.ts'
import { deviceName } from '../agent/values.ts'
import { UsageError } from '../failure.ts'
import { addFlags, readFlags } from '../flag.ts'
import { drillCommand } from './drill-command.ts'
import { previewCommand } from './preview-command.ts'

export const credentialsFlags = {
  device: anyNumber('NAME', 'a device that gets credentials; the flag may be given several times', deviceName),
  deviceNames: optional('FILE', 'the names of more such devices, one a line; - is standard input', nonEmpty),
  output: required('DIRECTORY', 'where keys and configuration are written; what is there is kept', nonEmpty),
}

const EXAMPLES = `
Examples:
  muster fleet credentials --device pump-17 --device pump-18 --output fleet-credentials
  muster fleet credentials --device pump-19 --output fleet-credentials     one more; the others keep their keys
  seq -f till-%g 50 | muster fleet credentials --device-names - --output fleet-credentials
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
      const { device, deviceNames, output } = readFlags(command, credentialsFlags)
      const { readDeviceNames, writeCredentials } = await import('./credentials.ts')
      const devices = [...device, ...(deviceNames === undefined ? [] : await readDeviceNames(deviceNames))]
      if (devices.length === 0) throw new UsageError('--device or --device-names is needed, with one device at least')
      for (const line of await writeCredentials(devices, output)) process.stdout.write(`${line}\n`)
    })
