import { Command } from 'commander'
import { flag, required, several } from '#operator/flags/flag.ts'
import { nonEmpty, oneOf } from '#operator/flags/values.ts'
import { addFlags, readFlags } from '../flag.ts'

export const previewFlags = {
  deployment: required('FILE', 'the Deployment of the fleet, YAML', nonEmpty),
  devices: several('FILE', 'Devices, YAML; a file may hold several, and the flag may be given several times', nonEmpty),
  output: flag('FORMAT', 'text for people, json for programs', oneOf('text', 'json'), 'text'),
}

const EXAMPLES = `
Examples:
  muster fleet preview --deployment web.yaml --devices devices.yaml
  kubectl get fleetdev -o yaml | muster fleet preview --deployment web.yaml --devices -

Exit codes: 0 every device that is meant would get it, 1 some would not, 2 a file can't be used.
`

export const previewCommand = (): Command =>
  addFlags(new Command('preview'), previewFlags)
    .description('print which devices a Deployment would come to, in which batch, and what each would get')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const { deployment, devices, output } = readFlags(command, previewFlags)
      const { previewFiles } = await import('./preview.ts')
      const { text, isTroubled } = await previewFiles(deployment, devices, output, new Date())
      process.stdout.write(text)
      if (isTroubled) process.exitCode = 1
    })
