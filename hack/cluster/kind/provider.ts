import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { noContainers } from '../../process/containers.ts'
import { temporaryFolder } from '../../process/folder.ts'
import type { Cluster, ClusterProvider, Start } from '../cluster.ts'
import { currentContextOf, writeKubeconfig } from '../kubeconfig.ts'
import { kubectl } from '../kubectl.ts'
import { findKubectl } from '../programs.ts'
import type { Reach } from './reach.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..', '..')

/** A kind cluster can be given images that are only here. */
export interface KindCluster extends Cluster {
  /** @param archive a file that `docker save` wrote */
  readonly load: (archive: string) => Promise<void>
}

export interface KindStart extends Pick<Start, 'say' | 'signal'> {
  /** Folders of this machine that the node sees, at the same path. */
  readonly readable?: readonly string[]
  /** How many nodes there are beside the first, which takes workloads as well; none when undefined. */
  readonly workers?: number
  /** For an engine whose network isn't ours. */
  readonly reach?: Reach
}

/** kind's node image in Docker, or whatever else testcontainers finds. Its packages are loaded only when it is asked. */
export const kind: ClusterProvider = {
  title: 'kind in Docker',
  unavailable: noContainers,
  start: ({ say, signal }) => startKind({ say, signal, readable: [REPOSITORY] }),
}

const OURS: Reach = (host, port) => Promise.resolve({ host, port })

/** Starts one in the engine that testcontainers finds. @throws SetupError when no node image is to be had, ProcessError */
export const startKind = async (start: KindStart): Promise<KindCluster> => {
  const { say, signal, readable = [], workers = 0, reach = OURS } = start
  const { KindNode } = await import('./node.ts')
  const { formCluster } = await import('./form.ts')
  const { provideNodeImage } = await import('./node-image.ts')
  const image = await provideNodeImage({ say, signal })
  await using stack = new AsyncDisposableStack()
  const startNode = async (name: string) => {
    signal?.throwIfAborted()
    say(`  Starting ${name}, a node of ${image} …`)
    const node = await new KindNode(image, name, readable).start()
    stack.defer(async () => void (await node.stop()))
    return node
  }
  const first = await startNode('muster-control-plane')
  const others: (typeof first)[] = []
  for (let number = 1; number <= workers; number++) others.push(await startNode(`muster-worker-${number}`))
  const config = await formCluster([first, ...others], reach, say)
  const folder = await temporaryFolder('kind')
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const kubeconfig = join(folder, 'kubeconfig')
  await writeKubeconfig(kubeconfig, config)
  const command = findKubectl()
  const programs = join(folder, 'programs')
  const own = stack.move()
  return {
    kubeconfig,
    context: currentContextOf(config) as string,
    kubectl: command === undefined ? first.kubectl : kubectl(command, [`--kubeconfig=${kubeconfig}`]),
    programs: async () => ((await first.copyPrograms(programs)) ? programs : undefined),
    ours: true,
    load: async (archive) => {
      for (const node of [first, ...others]) await node.load(archive)
    },
    stop: () => own.disposeAsync(),
  }
}
