import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { ControllerEntry } from '#operator/controller-entry.ts'
import { flag } from '#operator/flags/flag.ts'
import { names } from '#operator/flags/values.ts'
import { CALLER_REVIEWS, EVENTS, LEADER_ELECTION, type Rights } from '#operator/rights.ts'
import type { ClusterDeploymentOptions } from './options.ts'

const flags = {
  formerKubernetesUids: flag(
    'UIDS',
    'uids of namespace kube-system of the clusters that this one was restored from, whose registered clusters its ClusterDeployments take over; separated by commas',
    names,
    '',
  ),
}

const rights: Rights = {
  account: 'hyperfleet-clusterdeployment',
  testAccount: 'hyperfleet-clusterdeployment',
  role: 'hyperfleet-clusterdeployment',
  kind: 'ClusterRole',
  about: 'To have ClusterDeployments made by the HyperFleet API, in whatever namespaces they are.',
  why: {
    clusterdeploymentcustomizations:
      'A cluster is registered only while its customization is leased to it; that it is, is written into the status before.',
    secrets:
      'Install-configs are Secrets, each in the namespace of its cluster. They are read one by one, never listed.',
    ...EVENTS,
  },
  rare: [
    ...['adapterinventories', 'adaptertasks'].map((resource) => ({
      group: 'hyperfleet.redhat.com',
      resource,
      verbs: ['list'],
      reason:
        'Read when the HyperFleet API has lost a cluster: what adapters have left of it keeps its customization from another one.',
    })),
    {
      group: '',
      resource: 'namespaces',
      verbs: ['get'],
      name: 'kube-system',
      reason:
        'Its uid names the Kubernetes cluster in what is registered: a customization of another one is not this one’s.',
    },
  ],
  optional: { ...CALLER_REVIEWS, ...LEADER_ELECTION },
  tests: ['test/integration/clusterdeployment', 'test/integration/delivery/stand-by'],
}

/** ClusterDeployments: docs/clusterpools.md. */
export const clusterDeploymentEntry = {
  name: 'clusterdeployment',
  kinds: [ClusterDeployment, ClusterDeploymentCustomization],
  flags,
  rights,
  load: async (context: ClusterDeploymentOptions) => {
    const { clusterDeployment } = await import('./index.ts')
    return clusterDeployment(context)
  },
} as const satisfies ControllerEntry<ClusterDeploymentOptions>
