import { join } from 'node:path'
import { moduleVersion } from '../gobuild/module-version.ts'
import type { BinarySet } from '../gobuild/set.ts'

/** Of the control plane and of the node of kind, such as v1.36.3. */
export const KUBERNETES_VERSION = moduleVersion(import.meta.dirname, 'k8s.io/kubernetes')

const VERSION_PACKAGE = 'k8s.io/component-base/version'

// Without the version the API server would report v0.0.0, and clients that look at it would choose old behaviour.
const flagsOf = (version: string): readonly string[] => {
  const [major = '', minor = ''] = version.slice(1).split('.')
  return [
    '-trimpath',
    '-ldflags',
    `-s -w -X ${VERSION_PACKAGE}.gitVersion=${version} -X ${VERSION_PACKAGE}.gitMajor=${major} -X ${VERSION_PACKAGE}.gitMinor=${minor}`,
  ]
}

const FLAGS = flagsOf(KUBERNETES_VERSION)

/** The local control plane, kubectl and NATS. */
export const CONTROL_PLANE = {
  title: 'the control plane',
  name: 'controlplane',
  module: import.meta.dirname,
  version: KUBERNETES_VERSION,
  packages: {
    etcd: 'go.etcd.io/etcd/server/v3',
    'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
    'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
    'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
    kubectl: 'k8s.io/kubernetes/cmd/kubectl',
    kwok: 'sigs.k8s.io/kwok/cmd/kwok',
    'nats-server': 'github.com/nats-io/nats-server/v2',
  },
  flags: FLAGS,
} as const satisfies BinarySet

/** What a node of Kubernetes needs besides; of the same modules, so most of it is compiled already. */
export const NODE_KUBERNETES = {
  title: "a node's Kubernetes",
  name: 'node-kubernetes',
  module: import.meta.dirname,
  version: KUBERNETES_VERSION,
  packages: {
    kubeadm: 'k8s.io/kubernetes/cmd/kubeadm',
    kubelet: 'k8s.io/kubernetes/cmd/kubelet',
    'kube-proxy': 'k8s.io/kubernetes/cmd/kube-proxy',
  },
  flags: FLAGS,
} as const satisfies BinarySet

const NEXT_MODULE = join(import.meta.dirname, 'next')
const NEXT_VERSION = moduleVersion(NEXT_MODULE, 'k8s.io/kubernetes')

/** The next minor release, to which tests upgrade clusters. */
export const NEXT_KUBERNETES = {
  title: 'the next release of Kubernetes',
  name: 'next-kubernetes',
  module: NEXT_MODULE,
  version: NEXT_VERSION,
  packages: {
    'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
    'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  },
  flags: flagsOf(NEXT_VERSION),
} as const satisfies BinarySet
