import { moduleVersion } from '../gobuild/module-version.ts'
import type { BinarySet } from '../gobuild/set.ts'

const VERSION = moduleVersion(import.meta.dirname, 'sigs.k8s.io/cluster-api')

/**
 * Cluster API's managers: of clusters and machines, of kubeadm's control planes and bootstrap data, all three as its releases have them, and of
 * its own infrastructure "dev", whose machines are in memory.
 */
export const CLUSTER_API = {
  title: 'Cluster API',
  name: 'cluster-api',
  module: import.meta.dirname,
  version: VERSION,
  packages: {
    core: 'sigs.k8s.io/cluster-api/core',
    bootstrap: 'sigs.k8s.io/cluster-api/bootstrap/kubeadm',
    'control-plane': 'sigs.k8s.io/cluster-api/controlplane/kubeadm',
    dev: './dev',
  },
  flags: ['-trimpath', '-ldflags', `-s -w -X sigs.k8s.io/cluster-api/version.gitVersion=${VERSION}`],
} as const satisfies BinarySet

export type ClusterApiManager = keyof (typeof CLUSTER_API)['packages']
