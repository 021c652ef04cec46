import { Command } from 'commander'
import { flag, optional, required, toggle, type Values } from '#operator/flags/flag.ts'
import { nonEmpty } from '#operator/flags/values.ts'
import { addFlags, readFlags } from '../flag.ts'
import { agentFlags } from './flags.ts'
import { absolutePath, accountName, withoutUser } from './values.ts'

const { device, natsUrl, natsCredentials, natsCa, fleetPublicKeys, labels, programUser } = agentFlags

export const enrollFlags = {
  device,
  // Every account of the machine can read the unit.
  natsUrl: { ...natsUrl, read: (provided, where) => withoutUser(natsUrl.read(provided, where)) } as typeof natsUrl,
  natsCredentials,
  natsCa,
  fleetPublicKeys,
  acceptUnsigned: toggle(
    'have the agent take entries that nothing has signed, so that what opens NATS puts programs on this device',
  ),
  labels,
  user: required(
    'NAME',
    'the account that the agent runs as; with --program-user=self its programs have it too',
    accountName,
  ),
  programUser,
  kubeconfig: optional('FILE', 'the cluster that Kubernetes manifests are applied to; it is copied', nonEmpty),
  root: flag(
    'DIRECTORY',
    'the file system that the agent is installed into; in any but / nothing is started',
    absolutePath,
    '/',
  ),
  offline: toggle('install without asking NATS whether it lets the device in, as for the image of a machine'),
}

export type EnrollFlags = Values<typeof enrollFlags>

const EXAMPLES = `
Examples:
  muster agent enroll --device=pump-17 --user=root --nats-url=tls://nats.example:4222 --nats-credentials=pump-17.nk --fleet-public-keys=fleet-public.pem --labels=site=north
  muster agent enroll --device=pump-17 --user=pump --nats-url=tls://nats.example:4222 --nats-credentials=pump-17.nk --fleet-public-keys=fleet-public.pem --root=/mnt/image --offline
`

export const enrollCommand = (): Command =>
  addFlags(new Command('enroll'), enrollFlags)
    .description('make the agent a service of this machine, which systemd starts now and with the machine')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const options = readFlags(command, enrollFlags)
      const { enroll } = await import('./enroll.ts')
      for (const line of await enroll(options)) process.stdout.write(`${line}\n`)
    })
