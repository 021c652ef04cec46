/** What says that it is a pool's, and is not: SECURITY-27. */
import type { Any, Edit, Mutation } from './mutation.ts'

const NAMESPACE = 'hyperfleet-system'

const closed = (namespace: string): Edit => ({
  kind: 'NetworkPolicy',
  create: { metadata: { name: 'closed', namespace }, spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] } },
})

export const POOL_MUTATIONS: readonly Mutation[] = [
  {
    title: 'a cluster that names a pool, from a namespace that no pool made',
    reports: ['pool-clusters'],
    edits: [
      {
        kind: 'ClusterDeployment',
        create: {
          metadata: { name: 'weak', namespace: 'default' },
          spec: {
            clusterName: 'weak',
            baseDomain: 'example.com',
            platform: { none: {} },
            clusterPoolRef: { namespace: NAMESPACE, poolName: 'edge' },
          },
        },
      },
    ],
  },
  {
    title: 'a namespace with the label of a pool that did not make it',
    reports: ['pool-namespaces'],
    edits: [
      {
        kind: 'ClusterPool',
        create: {
          metadata: { name: 'weak', namespace: NAMESPACE },
          spec: {
            baseDomain: 'example.com',
            platform: { none: {} },
            imageSetRef: { name: 'kubernetes-v1.36' },
            size: 0,
          },
        },
      },
      {
        kind: 'Namespace',
        create: (pool: Any) => ({
          metadata: {
            name: 'beforehand',
            labels: {
              'hive.openshift.io/clusterpool-uid': pool.metadata.uid,
              'pod-security.kubernetes.io/enforce': 'restricted',
            },
          },
        }),
      },
      closed('beforehand'),
    ],
  },
]
