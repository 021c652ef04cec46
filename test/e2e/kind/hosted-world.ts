/** The provider `hosted` on kind: the suite as it is installed with it, and a pod that uses a cluster. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CONTROL_PLANE, NEXT_KUBERNETES } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { CHECKOUT } from '#hack/image/dockerfile.ts'
import { ensureArchive } from '#hack/image/local/archive-cache.ts'
import { shell, users } from '#hack/image/local/programs.ts'
import { type KindNodes, kindCluster } from '#test/harness/ground/kind/cluster.ts'
import { NODE_SHELL, type NodeShell, nodeShell } from './node-shell.ts'
import { applySuite, NAMESPACE } from './world.ts'

/** Of the pod that uses a cluster. */
export const CLIENTS = 'clients'
const CLIENT_IMAGE = 'localhost/muster-test/kubectl:local'

const NO_PRIVILEGES = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  runAsUser: 65_532,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}

/** A container that can be told what to do. */
const idle = (name: string) => ({
  name,
  image: CLIENT_IMAGE,
  imagePullPolicy: 'Never',
  // The first process of a container is ended by no signal that it does not handle.
  command: ['sh', '-c', "trap 'exit 0' TERM; sleep 1000000 & wait"],
  securityContext: NO_PRIVILEGES,
})

/** Runs a script somewhere. @returns what it printed */
export type RunScript = (script: string) => Promise<string>

/** Which of these addresses with their ports take a connection from there, all tried at once. */
export const reachedBy = async (from: RunScript, addresses: readonly string[]): Promise<readonly string[]> => {
  const tries = addresses.map((one) => `nc -w 5 ${one} </dev/null >/dev/null 2>&1 && echo ${one} &`)
  return (await from(`${tries.join('\n')}\nwait`)).split('\n').filter(Boolean).toSorted()
}

/** Of a pod that has no work of its own. */
const QUIET = { automountServiceAccountToken: false, enableServiceLinks: false, terminationGracePeriodSeconds: 0 }

export interface HostedWorld extends KindNodes {
  readonly node: NodeShell
  /** A pod of another namespace, with this kubeconfig: a Secret's value. */
  client(kubeconfig: string): Promise<void>
  /** Runs a script in that pod. @returns what it printed */
  asClient(script: string): Promise<string>
  /** Makes a pod that can be told what to do. @returns how to run a script in it */
  pod(namespace: string, name: string, labels: Readonly<Record<string, string>>): Promise<RunScript>
  /** The same beside the containers of another pod, in its network. */
  beside(namespace: string, pod: string, script: string): Promise<string>
}

/** @param next whether the node has images of the next release of Kubernetes */
export const hostedWorld = async ({ next }: { readonly next: boolean }): Promise<HostedWorld> => {
  await using stack = new AsyncDisposableStack()
  const archives = [await clientArchive(), ...(next ? await nextArchives() : [])]
  const nodes = stack.use(await kindCluster({ suiteAlone: true, archives, enforcing: true }))
  await nodes.apply([NODE_SHELL])
  await installSuite(nodes)
  const { cluster } = nodes
  const run = async (namespace: string, pod: string, container: string, script: string): Promise<string> =>
    cluster.kubectl('exec', `--namespace=${namespace}`, pod, `--container=${container}`, '--', 'sh', '-c', script)
  const own = stack.move()
  return {
    ...nodes,
    node: nodeShell(cluster),
    client: async (kubeconfig) => {
      await nodes.apply(clientPod(kubeconfig))
      await cluster.kubectl('wait', '--for=condition=Ready', 'pod/client', `--namespace=${CLIENTS}`, '--timeout=120s')
    },
    pod: async (namespace, name, labels) => {
      const spec = { ...QUIET, containers: [idle('shell')] }
      await nodes.apply([{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, labels }, spec }])
      await cluster.kubectl(
        'wait',
        '--for=condition=Ready',
        `pod/${name}`,
        `--namespace=${namespace}`,
        '--timeout=120s',
      )
      return (script) => run(namespace, name, 'shell', script)
    },
    asClient: (script) => run(CLIENTS, 'client', 'kubectl', script),
    beside: async (namespace, pod, script) => {
      const path = `/api/v1/namespaces/${namespace}/pods/${pod}`
      await cluster.rest('PATCH', `${path}/ephemeralcontainers`, { spec: { ephemeralContainers: [idle('beside')] } })
      const state = '{.status.ephemeralContainerStatuses[0].state.running.startedAt}'
      await cluster.kubectl(
        'wait',
        `pod/${pod}`,
        `--namespace=${namespace}`,
        `--for=jsonpath=${state}`,
        '--timeout=60s',
      )
      return run(namespace, pod, 'beside', script)
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  }
}

const clientArchive = async (): Promise<string> => {
  const kubectl = join(await ensureBinaries(CONTROL_PLANE, console.error), 'kubectl')
  const entries = { ...users({ nonroot: 65_532 }), ...(await shell()), '/bin/kubectl': { from: kubectl } }
  return ensureArchive({ name: 'kubectl', tag: CLIENT_IMAGE, entries }, console.error)
}

const nextArchives = async (): Promise<readonly string[]> => {
  const folder = await ensureBinaries(NEXT_KUBERNETES, console.error)
  const archives: string[] = []
  for (const program of Object.keys(NEXT_KUBERNETES.packages)) {
    const tag = `registry.k8s.io/${program}:${NEXT_KUBERNETES.version}`
    const entries = { [`/usr/local/bin/${program}`]: { from: join(folder, program) }, '/tmp': { mode: 0o1777 } }
    archives.push(await ensureArchive({ name: `next-${program}`, tag, entries }, console.error))
  }
  return archives
}

const clientPod = (kubeconfig: string): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: CLIENTS, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'mine', namespace: CLIENTS }, data: { kubeconfig } },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'client', namespace: CLIENTS, labels: { app: 'client' } },
    spec: {
      ...QUIET,
      containers: [
        {
          ...idle('kubectl'),
          env: [
            { name: 'KUBECONFIG', value: '/mine/kubeconfig' },
            // Its cache.
            { name: 'HOME', value: '/tmp' },
          ],
          volumeMounts: [
            { name: 'mine', mountPath: '/mine', readOnly: true },
            { name: 'tmp', mountPath: '/tmp' },
          ],
        },
      ],
      volumes: [
        { name: 'mine', secret: { secretName: 'mine' } },
        { name: 'tmp', emptyDir: {} },
      ],
    },
  },
]

/** What pools, their clusters and the fleet need, and the provider, whose adapter each cluster requires. */
const installSuite = async (nodes: KindNodes): Promise<void> => {
  const kinds = await readFile(join(CHECKOUT, 'kustomize/overlays/stage/kinds.yaml'), 'utf8')
  const parts = {
    resources: ['base', 'adapter', 'pools', 'shards/default', 'fleet', 'clusterdevices', 'providers/hosted'],
    components: ['components/kinds'],
  }
  const more = {
    configMapGenerator: [{ name: 'hyperfleet-kinds', namespace: NAMESPACE, files: ['kinds.yaml'] }],
    replicas: ['hyperfleet-adapter', 'fleet-operator'].map((name) => ({ name, count: 1 })),
  }
  // The first are those of clusters.
  await applySuite(nodes, parts, more, {
    'kinds.yaml': kinds.replace(/required_adapters: .*/, 'required_adapters: [cluster-hosted]'),
  })
}
