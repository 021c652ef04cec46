/** What makes a cluster out of a kind node image, as data: no Docker is needed to read or test it. */

/**
 * The official node image nearest to the local control plane's version (hack/controlplane): kind v0.33.0 published no later one of
 * this minor version. The image that is made here (hack/kindnode) has exactly that version.
 */
export const OFFICIAL_IMAGE = 'kindest/node:v1.36.1'

export const API_SERVER_PORT = 6443

const POD_SUBNET = '10.244.0.0/16'
const SERVICE_SUBNET = '10.96.0.0/16'
const CRI_SOCKET = 'unix:///run/containerd/containerd.sock'
export const KUBEADM_CONFIG = '/kind/muster-kubeadm.yaml'
export const ADMIN_CONFIG = '/etc/kubernetes/admin.conf'

/** systemd has come so far that kubeadm can work: the image's entrypoint starts containerd as a service. */
export const BOOTED = 'systemctl is-active containerd && test -S /run/containerd/containerd.sock'

/** Where a node image says which Kubernetes it has: v1.36.1. */
export const VERSION_FILE = '/kind/version'

/**
 * What kubelet sets on the whole machine, by its path in /proc/sys, when it finds another value. In the node these files look as
 * kubelet wants them, so it sets nothing.
 */
const MACHINE_SETTINGS: Readonly<Record<string, number>> = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
}

/** Gives an environment to what systemd starts in a node: kubelet and containerd, which gives it to what begins a container. */
export const SERVICES_CONFIG = '/etc/systemd/system.conf.d/muster-go.conf'

/** The text of that file. */
export const servicesConfig = (env: Readonly<Record<string, string>>): string =>
  `[Manager]\nDefaultEnvironment=${Object.entries(env)
    .map((pair) => pair.join('='))
    .join(' ')}\n`

/**
 * kubeadm's configuration of a cluster of one node, in which workloads may run on the control plane.
 * @param host how this machine reaches the container: the API server's certificate must be good for it
 * @param version of Kubernetes, as the node image has it: v1.36.1
 * @param env of the control plane's programs, beside their own
 */
export const kubeadmConfig = (
  host: string,
  version: string,
  env: Readonly<Record<string, string>> = {},
): readonly object[] => {
  const apiVersion = 'kubeadm.k8s.io/v1beta4'
  const extraEnvs = Object.entries(env).map(([name, value]) => ({ name, value }))
  const ownEnv = extraEnvs.length === 0 ? {} : { extraEnvs }
  return [
    {
      apiVersion,
      kind: 'ClusterConfiguration',
      clusterName: 'muster',
      kubernetesVersion: version,
      networking: { podSubnet: POD_SUBNET, serviceSubnet: SERVICE_SUBNET },
      apiServer: { certSANs: [...new Set(['localhost', '127.0.0.1', host])], ...ownEnv },
      ...(extraEnvs.length > 0 && { controllerManager: ownEnv, scheduler: ownEnv, etcd: { local: ownEnv } }),
    },
    {
      apiVersion,
      kind: 'InitConfiguration',
      localAPIEndpoint: { bindPort: API_SERVER_PORT },
      nodeRegistration: { criSocket: CRI_SOCKET, taints: [] },
    },
    {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      // The node shares the machine with whatever else runs on it: its swap, its full disk and its cgroups are not ours.
      cgroupDriver: 'systemd',
      cgroupRoot: '/kubelet',
      // By default it starts on cgroup v2 alone.
      failCgroupV1: false,
      failSwapOn: false,
      imageGCHighThresholdPercent: 100,
      evictionHard: { 'nodefs.available': '0%', 'nodefs.inodesFree': '0%', 'imagefs.available': '0%' },
    },
    // The number of tracked connections belongs to the machine; a container may not change it.
    { apiVersion: 'kubeproxy.config.k8s.io/v1alpha1', kind: 'KubeProxyConfiguration', conntrack: { maxPerCore: 0 } },
  ]
}

export interface Step {
  readonly title: string
  readonly command: readonly string[]
}

const admin = `--kubeconfig=${ADMIN_CONFIG}`

/** What each node does first. */
export const KEEP_SETTINGS: Step = {
  title: 'Keeping the settings of this machine as they are',
  command: [
    'sh',
    '-ec',
    Object.entries(MACHINE_SETTINGS)
      .map(([path, value]) => {
        const file = `/run/${path.replaceAll('/', '-')}`
        return `echo ${value} > ${file}; mount --bind ${file} /proc/sys/${path}`
      })
      .join('; '),
  ],
}

/** The commands that make a booted node a control plane, in order. */
export const SETUP: readonly Step[] = [
  {
    title: 'Starting Kubernetes with kubeadm',
    // Its checks look for things of a whole machine, such as kernel configurations, that a container doesn't show.
    command: ['kubeadm', 'init', `--config=${KUBEADM_CONFIG}`, '--skip-phases=preflight', '--skip-token-print'],
  },
  {
    title: 'Installing the pod network',
    // The image brings its network's manifest as a template with one blank.
    command: [
      'sh',
      '-c',
      `sed 's#{{ *.PodSubnet *}}#${POD_SUBNET}#' /kind/manifests/default-cni.yaml | kubectl ${admin} apply -f -`,
    ],
  },
  {
    title: 'Installing the storage class',
    command: ['kubectl', admin, 'apply', '-f', '/kind/manifests/default-storage.yaml'],
  },
]

/** On the control plane: prints the command that adds a worker. */
export const JOIN_COMMAND: Step = {
  title: 'Asking how workers join',
  command: ['kubeadm', 'token', 'create', '--print-join-command'],
}

/** On a worker. @param printed by JOIN_COMMAND */
export const joining = (printed: string): Step => ({
  title: 'Joining the cluster',
  command: [...printed.trim().split(/\s+/), `--cri-socket=${CRI_SOCKET}`, '--skip-phases=preflight'],
})

/** Where COLLECT_PROGRAMS leaves them. */
export const PROGRAMS_FOLDER = '/kind/programs'

/** The control plane's programs, which its images hold, beside kubectl. Each is a static binary. */
export const COLLECT_PROGRAMS: Step = {
  title: 'Collecting the programs of its control plane',
  command: [
    'sh',
    '-ec',
    `mkdir -p ${PROGRAMS_FOLDER}; cp "$(command -v kubectl)" ${PROGRAMS_FOLDER}/
    for exe in /proc/[0-9]*/exe; do
      name=$(basename "$(readlink "$exe" || true)")
      case "$name" in etcd|kube-apiserver|kube-controller-manager) cp "$exe" "${PROGRAMS_FOLDER}/$name" ;; esac
    done
    uname -s -m`,
  ],
}

/** When the cluster can be used. The controller manager makes the account a while after the nodes are ready; pods are refused before. */
export const WAITS: readonly Step[] = [
  {
    title: 'Waiting for the nodes',
    command: ['kubectl', admin, 'wait', '--for=condition=Ready', 'node', '--all', '--timeout=180s'],
  },
  {
    title: 'Waiting for the ServiceAccount of pods',
    command: ['kubectl', admin, 'wait', '--for=create', 'serviceaccount/default', '--timeout=180s'],
  },
]
