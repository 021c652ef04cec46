/** What is built, from which Go package, and with which flags. Versions are go.mod's, except Kubernetes' own, which its linker flags need. */

export const KUBERNETES_VERSION = 'v1.36.3'

export const BINARIES = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  kwok: 'sigs.k8s.io/kwok/cmd/kwok',
  'nats-server': 'github.com/nats-io/nats-server/v2',
} as const

export type Binary = keyof typeof BINARIES

export const binaryNames = Object.keys(BINARIES) as readonly Binary[]

const [major = '', minor = ''] = KUBERNETES_VERSION.slice(1).split('.')

const VERSION_PACKAGE = 'k8s.io/component-base/version'

/** Without the version the API server would report v0.0.0, and clients that look at it would choose old behaviour. */
export const BUILD_FLAGS: readonly string[] = [
  '-trimpath',
  '-ldflags',
  `-s -w -X ${VERSION_PACKAGE}.gitVersion=${KUBERNETES_VERSION} -X ${VERSION_PACKAGE}.gitMajor=${major} -X ${VERSION_PACKAGE}.gitMinor=${minor}`,
]
