import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { noContainers } from '../../process/containers.ts'
import { temporaryFolder } from '../../process/folder.ts'
import type { Cluster, ClusterProvider, Start } from '../cluster.ts'
import { currentContextOf, writeKubeconfig } from '../kubeconfig.ts'
import { kubectl } from '../kubectl.ts'
import { findKubectl } from '../programs.ts'
import { IMAGE } from './plan.ts'

/** The node image can't be had on this machine. */
export class ImageError extends Error {
  override readonly name = 'ImageError'
}

const REPOSITORY = join(import.meta.dirname, '..', '..', '..')

/** A kind cluster can be given images that are only here. */
export interface KindCluster extends Cluster {
  /** @param archive a file that `docker save` wrote */
  readonly load: (archive: string) => Promise<void>
}

/** kind's node image in Docker, or whatever else testcontainers finds. Its packages are loaded only when it is asked. */
export const kind: ClusterProvider = {
  title: `kind in Docker (${IMAGE})`,
  unavailable: noContainers,
  start: (start) => startKind(start, [REPOSITORY]),
}

/** Why no kind cluster can be started here, its image counted, and what would mend that; undefined when one can. */
export const kindMissing = async (say: (line: string) => void): Promise<string | undefined> => {
  const reason = await noContainers()
  if (reason !== undefined) return reason
  try {
    await pull(say)
    return undefined
  } catch (error) {
    if (error instanceof ImageError) return error.message
    throw error
  }
}

/**
 * @param readable folders of this machine that the node sees, at the same path
 * @throws ImageError when the node image is not to be had
 */
export const startKind = async (
  { say, signal }: Pick<Start, 'say' | 'signal'>,
  readable: readonly string[],
): Promise<KindCluster> => {
  const { KindContainer } = await import('./container.ts')
  await pull(say)
  signal?.throwIfAborted()
  const node = await new KindContainer(readable).withProgress(say).start()
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

const pull = async (say: (line: string) => void): Promise<void> => {
  const { getContainerRuntimeClient, ImageName } = await import('testcontainers')
  const { image } = await getContainerRuntimeClient()
  const name = ImageName.fromString(IMAGE)
  if (await image.exists(name)) return
  say(`  Pulling ${IMAGE} …`)
  try {
    await image.pull(name)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ImageError(
      `${IMAGE} can't be pulled (${reason}): load it with "docker load", or use MUSTER_CLUSTER=local`,
      {
        cause,
      },
    )
  }
}
