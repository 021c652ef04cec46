import { Command } from 'commander'
import { flag, required, several } from '#operator/flags/flag.ts'
import { nonEmpty, objectName, oneOf } from '#operator/flags/values.ts'
import { apiServerFlags } from '../api-server-flags.ts'
import { UsageError } from '../failure.ts'
import { addFlags, readFlags } from '../flag.ts'

export const renderFlags = {
  installConfig: required('FILE', 'the install-config to begin with, YAML', nonEmpty),
  customization: several(
    'FILE',
    'ClusterDeploymentCustomizations, YAML; a file may hold several, and the flag may be given several times',
    nonEmpty,
  ),
}

export const planFlags = {
  namespace: flag('NAME', 'the namespace of the pool', objectName, 'default'),
  output: flag('FORMAT', 'text for people, json for programs', oneOf('text', 'json'), 'text'),
  ...apiServerFlags,
}

const PLAN_EXAMPLES = `
Examples:
  muster pool plan my-pool --namespace=pools
  muster pool plan my-pool --namespace=pools --output=json

Nothing is changed. Exit codes: 0 the plan is printed, 1 there is no such pool, 2 what was asked for can't be meant, 3 it could not look.
`

const EXAMPLES = `
Examples:
  muster pool render --install-config install-config.yaml --customization foo.yaml
  kubectl get cdc -o yaml | muster pool render --install-config install-config.yaml --customization -
`

/** What can be asked of pools without a cluster, or beside the controller. */
export const poolCommand = (): Command =>
  new Command('pool').description('look at what cluster pools do').addCommand(renderCommand()).addCommand(planCommand())

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

const planCommand = (): Command =>
  addFlags(new Command('plan'), planFlags)
    .argument('<pool>', 'the name of the ClusterPool')
    .description('print what the controller would do next with a pool, and why')
    .addHelpText('after', PLAN_EXAMPLES)
    .action(async (pool: string, _options: object, command: Command) => {
      const options = readFlags(command, planFlags)
      const { planOf } = await import('./plan.ts')
      process.stdout.write(await planOf({ name: poolNamed(pool), ...options }))
    })

const poolNamed = (name: string): string => {
  try {
    return objectName(name)
  } catch (error) {
    throw new UsageError(`pool: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
