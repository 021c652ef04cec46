import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { ControllerEntry } from '#operator/controller-entry.ts'
import { EVENTS, type Rights, readAfterConflict } from '#operator/rights.ts'

const rights: Rights = {
  account: 'hyperfleet-clusterpool',
  testAccount: 'hyperfleet-clusterclaim',
  role: 'hyperfleet-clusterclaim',
  kind: 'ClusterRole',
  everywhere: true,
  about: 'To keep claims, in the process that keeps pools and as its ServiceAccount.',
  why: {
    clusterclaims: 'A claim is deleted when its lifetime is over.',
    namespaces: 'Whether a pool made the one in which the cluster of a claim is its label says.',
    roles: 'Subjects of claims are let into the namespaces of their clusters.',
    ...EVENTS,
  },
  rare: [
    readAfterConflict('hive.openshift.io', 'clusterclaims'),
    {
      group: '',
      resource: 'secrets',
      verbs: ['get'],
      reason:
        'Subjects of claims read the Secrets of their clusters, and Kubernetes lets no client grant what it may not do; whether a pool put one beside the cluster its labels say.',
    },
  ],
  tests: ['test/integration/clusterpool'],
}

/** Cluster claims: docs/clusterpools.md. */
export const clusterClaimEntry = {
  name: 'clusterclaim',
  kinds: [ClusterPool, ClusterClaim, ClusterDeployment],
  flags: {},
  rights,
  load: async () => {
    const { clusterClaim } = await import('./index.ts')
    return clusterClaim()
  },
} as const satisfies ControllerEntry<unknown>
