import { Command } from 'commander'
import { addFlags, readFlags, required, several } from '../flag.ts'
import { nonEmpty } from '../values.ts'

export const renderFlags = {
  installConfig: required('FILE', 'the install-config to begin with, YAML', nonEmpty),
  customization: several(
    'FILE',
    'ClusterDeploymentCustomizations, YAML; a file may hold several, and the flag may be given several times',
    nonEmpty,
  ),
}

const EXAMPLES = `
Examples:
  muster pool render --install-config install-config.yaml --customization foo.yaml
  kubectl get cdc -o yaml | muster pool render --install-config install-config.yaml --customization -
`

/** What can be asked of pools without a cluster, or beside the controller. */
export const poolCommand = (): Command =>
  new Command('pool').description('look at what cluster pools do').addCommand(renderCommand())

const renderCommand = (): Command =>
  addFlags(new Command('render'), renderFlags)
    .description('print the install-config that each customization gives, or the operation that can’t be applied')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const { installConfig, customization } = readFlags(command, renderFlags)
      const { render } = await import('./render.ts')
      const { documents, notices } = await render(installConfig, customization)
      for (const notice of notices) process.stderr.write(`${notice}\n`)
      process.stdout.write(documents.join('---\n'))
    })
