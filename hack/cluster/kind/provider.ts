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
  /** For an engine whose network isn't ours. */
  readonly reach?: Reach
}

/** kind's node image in Docker, or whatever else testcontainers finds. Its packages are loaded only when it is asked. */
export const kind: ClusterProvider = {
  title: 'kind in Docker',
  unavailable: noContainers,
  start: ({ say, signal }) => startKind({ say, signal, readable: [REPOSITORY] }),
}

/** Starts one in the engine that testcontainers finds. @throws ImageError when no node image is to be had, KindError */
export const startKind = async ({ say, signal, readable = [], reach }: KindStart): Promise<KindCluster> => {
  const { KindContainer } = await import('./container.ts')
  const { provideNodeImage } = await import('./node-image.ts')
  const image = await provideNodeImage({ say, signal })
  signal?.throwIfAborted()
  say(`  Starting a node of ${image} …`)
  const container = new KindContainer(image, readable).withProgress(say)
  const node = await (reach === undefined ? container : container.withReach(reach)).start()
  const folder = await temporaryFolder('kind')
  const kubeconfig = join(folder, 'kubeconfig')
  await writeKubeconfig(kubeconfig, node.kubeconfig)
  const command = findKubectl()
  return {
    kubeconfig,
    context: currentContextOf(node.kubeconfig) as string,
    kubectl: command === undefined ? node.kubectl : kubectl(command, [`--kubeconfig=${kubeconfig}`]),
    ours: true,
    load: (archive) => node.load(archive),
    stop: async () => {
      await node.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
