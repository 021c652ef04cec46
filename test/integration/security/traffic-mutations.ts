import type { Edit, Mutation } from './mutation.ts'

const NAMESPACE = 'hyperfleet-system'

/** As pools make it, without the policies that close it. */
const ofCluster = (name: string): Edit => ({
  kind: 'Namespace',
  create: {
    metadata: {
      name,
      labels: { 'hive.openshift.io/clusterpool-uid': 'of-a-pool', 'pod-security.kubernetes.io/enforce': 'restricted' },
    },
  },
})

/** Ways of the network that should be closed. */
export const TRAFFIC_MUTATIONS: readonly Mutation[] = [
  {
    title: 'traffic that nothing denies',
    reports: ['default-deny'],
    edits: [{ kind: 'NetworkPolicy', name: 'default-deny', change: 'delete' }],
  },
  {
    title: 'traffic that nothing denies where tasks run pods',
    reports: ['default-deny'],
    edits: [{ kind: 'NetworkPolicy', name: 'default-deny', namespace: 'hyperfleet-work', change: 'delete' }],
  },
  {
    title: 'a policy that lets everybody in',
    reports: ['open-traffic'],
    edits: [
      {
        kind: 'NetworkPolicy',
        create: {
          metadata: { name: 'weak', namespace: NAMESPACE },
          spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{}] },
        },
      },
    ],
  },
  {
    title: 'a way out to every address',
    reports: ['open-traffic'],
    edits: [
      {
        kind: 'NetworkPolicy',
        name: 'hyperfleet-api-callers',
        change: (object) => ({
          ...object,
          spec: { ...object.spec, egress: [{ to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }] },
        }),
      },
    ],
  },
  {
    title: 'a namespace of a cluster whose pods have every way',
    reports: ['cluster-traffic'],
    edits: [ofCluster('open')],
  },
  {
    title: 'a namespace of a cluster whose pods may call everything',
    reports: ['cluster-traffic'],
    edits: [
      ofCluster('half'),
      {
        kind: 'NetworkPolicy',
        create: {
          metadata: { name: 'half', namespace: 'half' },
          spec: { podSelector: {}, policyTypes: ['Ingress'] },
        },
      },
    ],
  },
]
