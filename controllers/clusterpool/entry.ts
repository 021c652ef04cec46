import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { ControllerEntry } from '#operator/controller-entry.ts'
import { flag, type Values } from '#operator/flags/flag.ts'
import { oneOf } from '#operator/flags/values.ts'
import { EVENTS, LEADER_ELECTION, type Rights } from '#operator/rights.ts'
import type { PodNetwork } from './model/pod-network.ts'
import type { PodSecurityLevel } from './model/pod-security.ts'
import type { ClusterPoolOptions } from './options.ts'

/** Strictest first. */
const LEVELS = ['restricted', 'baseline', 'privileged'] as const satisfies readonly PodSecurityLevel[]

const NETWORKS = ['closed', 'open'] as const satisfies readonly PodNetwork[]

const flags = {
  clusterpoolPodSecurity: flag(
    'LEVEL',
    `what the namespaces that pools make ask of pods, as a Pod Security Standard (${LEVELS.join(', ')})`,
    oneOf(...LEVELS),
    'restricted',
  ),
  clusterpoolPodNetwork: flag(
    'STATE',
    'which ways of the network pods have in the namespaces that pools make (closed: Jobs have DNS, HTTPS and API servers, others none; open: all)',
    oneOf(...NETWORKS),
    'closed',
  ),
}

type Context = Pick<ClusterPoolOptions, 'clock' | 'registry'> & Values<typeof flags>

const rights: Rights = {
  account: 'hyperfleet-clusterpool',
  testAccount: 'hyperfleet-clusterpool',
  role: 'hyperfleet-clusterpool',
  kind: 'ClusterRole',
  everywhere: true,
  about: 'To keep pools. Each cluster has a namespace of its own, made for it: hence everywhere.',
  why: {
    clusterdeploymentcustomizations: 'The finalizer of a lease; the lease itself is status.',
    secrets:
      'Templates and credentials are read beside the pool; install-configs and copies are written beside the cluster.',
    networkpolicies: 'Pods beside clusters get no ways but some, before there are any. What is there is not changed.',
    rolebindings: 'Admins of pools, and accounts of providers, are let into the namespaces of their clusters.',
    clusterroles:
      'Which rights the account of which provider has beside its clusters. The provider lets pools bind them.',
    ...EVENTS,
  },
  rare: [
    {
      group: 'hive.openshift.io',
      resource: 'clusterclaims',
      verbs: ['get'],
      reason: 'Asked for before a cluster is taken from a claim that the cache does not show.',
    },
    {
      group: 'rbac.authorization.k8s.io',
      resource: 'clusterroles',
      verbs: ['bind'],
      name: 'hive-cluster-pool-cluster-admin',
      reason:
        'No call of its own: Kubernetes lets no client hand out a role that it does not have, unless it may bind it.',
    },
  ],
  optional: LEADER_ELECTION,
  tests: ['test/integration/clusterpool', 'test/integration/delivery/stand-by'],
}

/** Cluster pools: docs/clusterpools.md. */
export const clusterPoolEntry = {
  name: 'clusterpool',
  kinds: [ClusterPool, ClusterClaim, ClusterDeployment, ClusterDeploymentCustomization],
  flags,
  rights,
  load: async (context: Context) => {
    const { clock, registry, clusterpoolPodSecurity: podSecurity, clusterpoolPodNetwork: podNetwork } = context
    const { clusterPool } = await import('./index.ts')
    return clusterPool({ clock, registry, podSecurity, podNetwork })
  },
} as const satisfies ControllerEntry<Context>
