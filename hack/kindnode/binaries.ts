import { join } from 'node:path'
import { moduleVersion } from '../gobuild/module-version.ts'
import type { BinarySet } from '../gobuild/set.ts'

const MODULE = join(import.meta.dirname, 'programs')
const CONTAINERD_VERSION = moduleVersion(MODULE, 'github.com/containerd/containerd/v2')
const CRICTL_VERSION = moduleVersion(MODULE, 'sigs.k8s.io/cri-tools')

/** What a node of kind needs that is not of Kubernetes itself: its container runtime, its network, and the cluster's DNS and storage. */
export const NODE_PROGRAMS = {
  title: 'the programs of a kind node',
  name: 'node-programs',
  module: MODULE,
  version: CONTAINERD_VERSION,
  packages: {
    containerd: 'github.com/containerd/containerd/v2/cmd/containerd',
    'containerd-shim-runc-v2': 'github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2',
    ctr: 'github.com/containerd/containerd/v2/cmd/ctr',
    crictl: 'sigs.k8s.io/cri-tools/cmd/crictl',
    'host-local': 'github.com/containernetworking/plugins/plugins/ipam/host-local',
    loopback: 'github.com/containernetworking/plugins/plugins/main/loopback',
    ptp: 'github.com/containernetworking/plugins/plugins/main/ptp',
    portmap: 'github.com/containernetworking/plugins/plugins/meta/portmap',
    coredns: './coredns',
    pause: './pause',
    'local-path-provisioner': 'github.com/rancher/local-path-provisioner',
  },
  flags: [
    '-trimpath',
    // Snapshotters that a node of kind never uses; kind leaves them out as well.
    '-tags',
    'no_aufs no_zfs no_btrfs no_devmapper',
    '-ldflags',
    `-s -w -X github.com/containerd/containerd/v2/version.Version=${CONTAINERD_VERSION} -X sigs.k8s.io/cri-tools/pkg/version.Version=${CRICTL_VERSION}`,
  ],
} as const satisfies BinarySet
