/** Which ways of the network pods have beside a cluster, before any policy of its provider opens more. POOL-86. */

import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { NetworkPolicy, type NetworkPolicyRule, type NetworkPolicySpec } from '#apis/kubernetes.ts'
import { BLOCKED_RANGES } from '#lib/egress/guarded-lookup.ts'
import { apiVersionOf } from '#operator/model/resource.ts'
import { labelsOf } from './manifests.ts'

/** Kubernetes: on each pod that a Job makes. */
const JOB_LABEL = 'batch.kubernetes.io/job-name'

/** Of Kubernetes, of OpenShift, and NodeLocal DNSCache, which listens on the node. */
const DNS: NetworkPolicyRule = {
  to: [
    {
      namespaceSelector: {
        matchExpressions: [
          { key: 'kubernetes.io/metadata.name', operator: 'In', values: ['kube-system', 'openshift-dns'] },
        ],
      },
    },
    { ipBlock: { cidr: '169.254.20.10/32' } },
  ],
  ports: [53, 5353].flatMap((port) => ['UDP', 'TCP'].map((protocol) => ({ port, protocol }))),
}

/** APIs of clouds: anywhere but where machines and clouds serve credentials. */
const HTTPS: NetworkPolicyRule = {
  to: [
    { ipBlock: { cidr: '0.0.0.0/0', except: BLOCKED_RANGES.ipv4 } },
    { ipBlock: { cidr: '::/0', except: BLOCKED_RANGES.ipv6 } },
  ],
  ports: [{ port: 443, protocol: 'TCP' }],
}

/** API servers. Without an address: with some network plugins an ipBlock means no node, where they may be. */
const KUBERNETES: NetworkPolicyRule = { ports: [{ port: 6443, protocol: 'TCP' }] }

const SPECS: Readonly<Record<string, NetworkPolicySpec>> = {
  'muster-default-deny': { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
  // What installs a cluster is a Job. What goes on running is its control plane, whose ways its provider knows.
  'muster-jobs': {
    podSelector: { matchExpressions: [{ key: JOB_LABEL, operator: 'Exists' }] },
    policyTypes: ['Egress'],
    egress: [DNS, HTTPS, KUBERNETES],
  },
}

/** All that a pool writes for a cluster, the one that closes first. kustomize/pools/beside has them for namespaces of earlier releases. */
export const networkPolicyManifests = (pool: ClusterPool, namespace: string) =>
  Object.entries(SPECS).map(([name, spec]) => ({
    apiVersion: apiVersionOf(NetworkPolicy),
    kind: NetworkPolicy.kind,
    metadata: { name, namespace, labels: labelsOf(pool) },
    spec,
  }))
