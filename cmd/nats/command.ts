import { Command } from 'commander'
import { flag, optional, required, type Values } from '#operator/flags/flag.ts'
import { listenAddress, names, nonEmpty, objectName } from '#operator/flags/values.ts'
import { apiServerFlags } from '../api-server-flags.ts'
import { addFlags, readFlags } from '../flag.ts'
import { logFlags } from '../log-flags.ts'

/** As nats-server writes it. */
const storageBytes = (text: string): string => {
  if (/^[1-9]\d{0,9}([KMGT]i)?$/.test(text)) return text
  throw new Error(`${JSON.stringify(text)} is no number of bytes: write 512Mi or 2Gi`)
}

export const natsFlags = {
  namespace: flag(
    'NAME',
    'the namespace of the Secrets and ConfigMaps; POD_NAMESPACE when not given',
    objectName,
    process.env.POD_NAMESPACE ?? 'hyperfleet-system',
  ),
  output: required('DIRECTORY', 'where nats-server finds users.conf, and its certificate', nonEmpty),
  storeDir: optional('DIRECTORY', 'where nats-server keeps its streams, as its store_dir says', nonEmpty),
  formerStoreDir: optional(
    'DIRECTORY',
    'where nats-server of releases without users kept them; they are moved to their accounts in --store-dir before it starts',
    nonEmpty,
  ),
  apiStorage: flag(
    'BYTES',
    'what the streams of the HyperFleet API may take of the server’s max_file_store, such as 512Mi',
    storageBytes,
    '512Mi',
  ),
  fleetStorage: flag('BYTES', 'what the buckets of the fleet may take of it', storageBytes, '512Mi'),
  hosts: flag('NAMES', 'names and addresses that clients reach NATS by, separated by commas', names, 'nats'),
  apiHosts: flag(
    'NAMES',
    'names and addresses that clients reach the HyperFleet API by, separated by commas: its certificate is kept in the Secret hyperfleet-api-tls, its authorities in the ConfigMap hyperfleet-api-ca (default: none is)',
    names,
    '',
  ),
  natsUrl: flag('URL', 'where nats-server is told to read its configuration again', nonEmpty, 'tls://127.0.0.1:4222'),
  healthProbeBindAddress: flag(
    'ADDRESS',
    'where /healthz and /readyz are served; 0 for nowhere',
    listenAddress,
    ':8081',
  ),
  ...apiServerFlags,
  ...logFlags,
}

export type NatsOptions = Values<typeof natsFlags>

const EXAMPLES = `
Examples:
  muster nats --output=/etc/muster-nats --store-dir=/data/accounts --former-store-dir=/data --hosts=nats,nats.hyperfleet-system.svc,nats.example

It runs beside nats-server, whose configuration includes users.conf of that folder.
`

export const natsCommand = (): Command =>
  addFlags(new Command('nats'), natsFlags)
    .description('keep the users, the certificate and the devices’ keys of the NATS server beside it')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const options = readFlags(command, natsFlags)
      const { runNats } = await import('./run.ts')
      await runNats(options)
    })
