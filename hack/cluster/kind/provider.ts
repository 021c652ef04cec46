import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { noContainers } from '../../process/containers.ts'
import { temporaryFolder } from '../../process/folder.ts'
import type { Cluster, ClusterProvider } from '../cluster.ts'
import { currentContextOf, writeKubeconfig } from '../kubeconfig.ts'
import { kubectl } from '../kubectl.ts'
import { findKubectl } from '../programs.ts'
import { IMAGE } from './plan.ts'

/** The node image can't be had on this machine. */
export class ImageError extends Error {
  override readonly name = 'ImageError'
}

const REPOSITORY = join(import.meta.dirname, '..', '..', '..')

/** kind's node image in Docker, or whatever else testcontainers finds. Its packages are loaded only when it is asked. */
export const kind: ClusterProvider = {
  title: `kind in Docker (${IMAGE})`,
  unavailable: noContainers,
  start: async ({ say, signal }): Promise<Cluster> => {
    const { KindContainer } = await import('./container.ts')
    await pull(say)
    signal?.throwIfAborted()
    const node = await new KindContainer([REPOSITORY]).withProgress(say).start()
    const folder = await temporaryFolder('kind')
    const kubeconfig = join(folder, 'kubeconfig')
    await writeKubeconfig(kubeconfig, node.kubeconfig)
    const command = findKubectl()
    return {
      kubeconfig,
      context: currentContextOf(node.kubeconfig) as string,
      kubectl: command === undefined ? node.kubectl : kubectl(command, [`--kubeconfig=${kubeconfig}`]),
      ours: true,
      stop: async () => {
        await node.stop()
        await rm(folder, { recursive: true, force: true })
      },
    }
  },
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
