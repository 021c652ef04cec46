import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { ControllerEntry } from '#operator/controller-entry.ts'
import { flag, optional, type Values } from '#operator/flags/flag.ts'
import { labelKeys, nonEmpty } from '#operator/flags/values.ts'
import { CALLER_REVIEWS, type Rights } from '#operator/rights.ts'
import type { FleetOptions } from './options.ts'

const flags = {
  deviceLabels: flag(
    'KEYS',
    'labels that devices choose themselves, and so the Deployments that select by them: keys, prefixes that end in a slash, separated by commas; * for all',
    labelKeys('*'),
    '',
  ),
  fleetSigningKeys: optional(
    'FILE',
    'private keys of Ed25519, PEM, by which entries for devices are signed; read again when it changes (default: nothing is signed, and agents that demand it take nothing new)',
    nonEmpty,
  ),
  fleetDeviceKeys: optional(
    'FOLDER',
    'public keys of devices, a file for each with the name of the device, as the ConfigMap nats-devices has them; what a device says that has signed before is taken only with a signature by its key (default: all that stands in fleet-info is taken)',
    nonEmpty,
  ),
}

interface Context extends Values<typeof flags>, Pick<FleetOptions, 'namespace' | 'identity' | 'registry'> {
  readonly natsUrl: string
  readonly natsCredentials: string | undefined
  readonly natsCa: string | undefined
  /** The namespace of the objects that this process keeps for itself. */
  readonly home: string
  readonly fleet: NonNullable<FleetOptions['viewRef']>
}

const rights: Rights = {
  account: 'fleet-operator',
  testAccount: 'fleet-operator',
  role: 'muster-fleet-operator',
  kind: 'ClusterRole',
  atHome: ['leases'],
  about:
    'For the fleet operator. Devices belong to no namespace, and Deployments live where their owners do: hence everywhere. Only its Lease is kept at home.',
  why: {
    deployments: 'The finalizer stays until the keys of a Deployment are gone.',
    'deployments/status': 'Written whole, and only while no other program has written it.',
    devices: 'Devices are made from what agents tell.',
    controllerrevisions: 'The revisions of Deployments, to go back to.',
    clusterdeployments:
      'No Device is made for a cluster that Kubernetes has forgotten, and its labels are those of its ClusterDeployment.',
    namespaces: 'A Deployment that goes with its namespace was deleted by no person: many at once are held.',
    leases: 'One replica leads: it writes status, advances rollouts and collects unneeded keys.',
    events: 'The steps of a rollout are events of its Deployment.',
  },
  rare: [
    {
      group: 'fleet.nationtech.io',
      resource: 'deployments',
      verbs: ['get'],
      reason:
        'Asked for before keys that nothing seems to need are deleted, and read anew when a write has lost (409).',
    },
    {
      group: 'fleet.nationtech.io',
      resource: 'devices',
      verbs: ['get'],
      reason:
        'Asked for before keys that nothing seems to need are deleted, and for the writer of its labels, when its agent says something new.',
    },
    {
      group: 'apps',
      resource: 'controllerrevisions',
      verbs: ['get', 'delete'],
      reason: 'Looked at when another operator has stored the revision first; deleted when the history is too long.',
    },
  ],
  optional: CALLER_REVIEWS,
  tests: ['test/integration/fleet', 'test/integration/dashboard/fleet-operator'],
}

/** The fleet operator: docs/fleet.md. */
export const fleetEntry = {
  name: 'fleet',
  kinds: [Deployment, Device],
  flags,
  rights,
  /** @throws FleetKeyError */
  load: async ({
    natsUrl,
    natsCredentials,
    natsCa,
    fleetSigningKeys,
    fleetDeviceKeys,
    home,
    fleet: viewRef,
    ...context
  }: Context) => {
    const { fleet } = await import('./index.ts')
    // What verifies signatures is loaded by this controller alone.
    const { openKeys } = await import('./open-keys.ts')
    const nats = { url: natsUrl, credentials: natsCredentials, ca: natsCa }
    const keys = await openKeys(fleetSigningKeys, fleetDeviceKeys)
    return fleet({ ...context, ...keys, nats, leaseNamespace: home, viewRef })
  },
} as const satisfies ControllerEntry<Context>
