import { Command } from 'commander'
import { optional } from '#operator/flags/flag.ts'
import { nonEmpty } from '#operator/flags/values.ts'
import { addFlags, readFlags } from '../flag.ts'

export const crdsFlags = {
  kind: optional('NAME', 'print only this kind, by its kind or plural name (default: all)', nonEmpty),
}

const EXAMPLES = `
Examples:
  muster crds | kubectl apply --server-side -f -
  muster crds --kind=SentinelConfig
`

export const crdsCommand = (): Command =>
  addFlags(new Command('crds'), crdsFlags)
    .description('print the CustomResourceDefinitions as YAML')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const { kind } = readFlags(command, crdsFlags)
      const { crds } = await import('./crds.ts')
      process.stdout.write(crds(kind))
    })
