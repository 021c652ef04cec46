import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ControllerEntry } from '#operator/controller-entry.ts'
import { flag, optional, type Values } from '#operator/flags/flag.ts'
import { labelKeys, nonEmpty } from '#operator/flags/values.ts'
import { type Rights, readAfterConflict } from '#operator/rights.ts'

const flags = {
  clusterDeviceLabels: flag(
    'KEYS',
    'which labels of ClusterDeployments their devices get: keys, or prefixes that end in a slash, separated by commas',
    labelKeys(),
    'device.fleet.nationtech.io/',
  ),
  clusterDeviceStateDir: flag(
    'DIRECTORY',
    'where is noted what was applied to clusters that are devices; it must outlive the manager',
    nonEmpty,
    './muster-cluster-devices',
  ),
  fleetPublicKeys: optional(
    'FILE',
    'public keys of the fleet, PEM, as its ConfigMap fleet-signing has them: clusters that are devices take only entries that one of them has signed (default: every entry)',
    nonEmpty,
  ),
}

type Context = Values<typeof flags> & {
  readonly natsUrl: string
  readonly natsCredentials: string | undefined
  readonly natsCa: string | undefined
  readonly version: string
}

const rights: Rights = {
  account: 'hyperfleet-clusterdevice',
  testAccount: 'hyperfleet-clusterdevice',
  role: 'muster-clusterdevice',
  kind: 'ClusterRole',
  everywhere: true,
  about:
    'For clusters that are devices of the fleet: docs/fleet-agent.md. In a cluster itself its admin kubeconfig says what may be done.',
  why: {
    clusterdeployments: 'The finalizer stays until the fleet has forgotten the cluster.',
    secrets: 'Admin kubeconfigs, by the names that ClusterDeployments give.',
  },
  rare: [
    readAfterConflict('hive.openshift.io', 'clusterdeployments'),
    {
      group: 'events.k8s.io',
      resource: 'events',
      verbs: ['create', 'patch'],
      reason:
        'That the finalizer can’t be added, and why, is an event of the ClusterDeployment; a repeated one is counted up.',
    },
  ],
  tests: ['test/integration/clusterdevice'],
}

/** Clusters that are devices of the fleet: docs/fleet-agent.md. */
export const clusterDeviceEntry = {
  name: 'clusterdevice',
  kinds: [ClusterDeployment, Device],
  flags,
  rights,
  load: async (context: Context) => {
    const { natsUrl, natsCredentials, natsCa, clusterDeviceLabels, clusterDeviceStateDir, fleetPublicKeys, version } =
      context
    const { clusterDevice } = await import('./index.ts')
    const nats = { url: natsUrl, credentials: natsCredentials, ca: natsCa }
    return clusterDevice({
      nats,
      publicKeys: fleetPublicKeys,
      labels: clusterDeviceLabels,
      stateDir: clusterDeviceStateDir,
      version,
    })
  },
} as const satisfies ControllerEntry<Context>
