import { Command } from 'commander'
import { flag, optional, type Values } from '#operator/flags/flag.ts'
import { nonEmpty, objectName } from '#operator/flags/values.ts'
import { apiServerFlags } from '../api-server-flags.ts'
import { UsageError } from '../failure.ts'
import { addFlags, readFlags } from '../flag.ts'

export const kubeconfigFlags = {
  namespace: flag('NAME', 'the namespace of the claim', objectName, 'default'),
  write: optional('FILE', 'write it into this new file, which only you may read (default: print it)', nonEmpty),
  ...apiServerFlags,
}

export type ClaimKubeconfigOptions = Values<typeof kubeconfigFlags>

const EXAMPLES = `
Examples:
  muster claim kubeconfig mine -n pools --write=mine.kubeconfig
  kubectl --kubeconfig=mine.kubeconfig get namespaces

It reads with your own rights: those of the subjects of the claim do. Exit codes: 0 the kubeconfig is printed or written, 1 there is none yet, 2 what was asked for can't be meant, 3 it could not look.
`

/** What the users of clusters ask for. */
export const claimCommand = (): Command =>
  new Command('claim').description('use the clusters that were claimed').addCommand(kubeconfigCommand())

const kubeconfigCommand = (): Command =>
  addFlags(new Command('kubeconfig'), kubeconfigFlags)
    .argument('<claim>', 'the name of the ClusterClaim')
    .description('print the kubeconfig of the cluster that a claim has')
    .addHelpText('after', EXAMPLES)
    .action(async (claim: string, _options: object, command: Command) => {
      const options = readFlags(command, kubeconfigFlags)
      const { printKubeconfig } = await import('./kubeconfig.ts')
      await printKubeconfig(claimNamed(claim), options)
    })

const claimNamed = (name: string): string => {
  try {
    return objectName(name)
  } catch (error) {
    throw new UsageError(`claim: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
