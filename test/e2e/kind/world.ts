/** The overlay stage, which has everything of production but its images' digests, as pods of a kind cluster. */
import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { dump } from 'js-yaml'
import { CHECKOUT } from '#hack/image/dockerfile.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type KindNodes, kindCluster, PATIENCE } from '#test/harness/ground/kind/cluster.ts'
import { DATABASE_NAMESPACE, database } from '#test/harness/ground/kind/pods.ts'
import { NODE_SHELL, type NodeShell, nodeShell } from './node-shell.ts'

export const NAMESPACE = 'hyperfleet-system'

/** What the tests read of a Pod. */
export interface Pod {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly labels: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
  readonly spec: { readonly terminationGracePeriodSeconds: number; readonly containers: readonly Container[] }
  readonly status: {
    readonly phase: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly containerStatuses?: readonly ContainerStatus[]
  }
}

interface Container {
  readonly name: string
  readonly image: string
  readonly resources: { readonly limits?: { readonly memory?: string } }
}

interface Ended {
  readonly exitCode: number
  readonly reason: string
}

interface ContainerStatus {
  readonly name: string
  /** containerd://… */
  readonly containerID: string
  readonly restartCount: number
  readonly state: { readonly terminated?: Ended }
  readonly lastState: { readonly terminated?: Ended }
}

export interface StageWorld extends KindNodes {
  readonly node: NodeShell
  /** Pods of the suite, and not those of Jobs, that are not being deleted. @param selector of labels, as kubectl takes it */
  pods(selector?: string): Promise<readonly Pod[]>
}

export const stageWorld = async (): Promise<StageWorld> => {
  await using stack = new AsyncDisposableStack()
  const nodes = stack.use(await kindCluster())
  const { cluster } = nodes
  await cluster.kubectl('create', 'namespace', NAMESPACE)
  await nodes.apply([...(await database(NAMESPACE)), NODE_SHELL])
  await nodes.rolledOut(DATABASE_NAMESPACE)
  await applySuite(nodes, { resources: ['overlays/stage'] })
  const own = stack.move()
  return {
    ...nodes,
    node: nodeShell(cluster),
    pods: async (selector = 'app.kubernetes.io/name') => {
      const path = `/api/v1/namespaces/${NAMESPACE}/pods?labelSelector=${encodeURIComponent(selector)}`
      const { items } = await cluster.rest<{ readonly items: readonly Pod[] }>('GET', path)
      return items.filter(({ metadata, status }) => !metadata.deletionTimestamp && status.phase === 'Running')
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  }
}

/**
 * Applies the suite, and waits for its pods. Only the API, which answers all others, keeps its request of CPU: on a node of two cores
 * a rolling update would find no room for a second pod of each.
 * @param parts folders of kustomize/
 * @param more of the kustomization
 * @param files that it names
 */
export const applySuite = async (
  nodes: KindNodes,
  parts: Parts,
  more: object = {},
  files: Readonly<Record<string, string>> = {},
): Promise<void> => {
  // The kinds first: what is of them can't be applied before they are served.
  await applyFolder(nodes, join(CHECKOUT, 'manifests'))
  await nodes.cluster.kubectl('wait', 'crds', '--all', '--for=condition=Established', PATIENCE)
  const folder = await temporaryFolder('suite')
  const patch = dump([{ op: 'replace', path: '/spec/template/spec/containers/0/resources/requests/cpu', value: '1m' }])
  const patches = ['Deployment', 'StatefulSet'].map((kind) => ({
    target: { kind, labelSelector: 'app.kubernetes.io/name!=hyperfleet-api' },
    patch,
  }))
  const [resources, components] = [parts.resources, parts.components ?? []].map((folders) =>
    folders.map((name) => relative(folder, join(CHECKOUT, 'kustomize', name))),
  )
  const kustomization = dump({ resources, components, patches, ...more })
  for (const [name, text] of Object.entries({ ...files, 'kustomization.yaml': kustomization }))
    await writeFile(join(folder, name), text)
  await applyFolder(nodes, folder)
  await nodes.rolledOut(NAMESPACE)
}

interface Parts {
  readonly resources: readonly string[]
  readonly components?: readonly string[]
}

const applyFolder = async ({ cluster }: KindNodes, folder: string): Promise<void> => {
  await cluster.kubectl('apply', '--server-side', '--force-conflicts', '--kustomize', folder)
}
