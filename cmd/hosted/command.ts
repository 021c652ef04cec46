import { Command } from 'commander'
import { flag, type Values } from '#operator/flags/flag.ts'
import { objectName } from '#operator/flags/values.ts'
import { apiServerFlags } from '../api-server-flags.ts'
import { UsageError } from '../failure.ts'
import { addFlags, readFlags } from '../flag.ts'

export const certificatesFlags = {
  namespace: flag('NAME', 'the namespace of the cluster’s Secrets', objectName, 'default'),
  ...apiServerFlags,
}

export type CertificatesOptions = Values<typeof certificatesFlags>

const HELP = `
The Job of the provider "hosted" runs it. The Secrets CLUSTER-pki and CLUSTER-admin-kubeconfig must be there, empty or as they were: it may
get and patch them, and no others.
`

/** What the provider `hosted` runs. */
export const hostedCommand = (): Command =>
  new Command('hosted').description('work on control planes that run as pods').addCommand(certificatesCommand())

const certificatesCommand = (): Command =>
  addFlags(new Command('certificates'), certificatesFlags)
    .argument('<cluster>', 'the name of the cluster')
    .description('make the certificates of a hosted cluster, and its kubeconfig, and renew what is about to expire')
    .addHelpText('after', HELP)
    .action(async (cluster: string, _options: object, command: Command) => {
      const options = readFlags(command, certificatesFlags)
      const { writeCertificates } = await import('./certificates.ts')
      await writeCertificates(clusterNamed(cluster), options)
    })

const clusterNamed = (name: string): string => {
  try {
    return objectName(name)
  } catch (error) {
    throw new UsageError(`cluster: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
