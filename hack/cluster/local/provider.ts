import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CONTROL_PLANE } from '../../controlplane/binaries.ts'
import { ensureBinaries, isBuilt } from '../../gobuild/build.ts'
import { temporaryFolder } from '../../process/folder.ts'
import type { Cluster, ClusterProvider } from '../cluster.ts'
import { kubectl } from '../kubectl.ts'
import { onPath } from '../programs.ts'
import { startLocalControlPlane } from './controlplane.ts'
import { applyNode } from './node.ts'

/** The control plane that this repository builds from Go modules, as processes on this machine. */
export const local: ClusterProvider = {
  title: 'a local control plane',
  unavailable: async () =>
    isBuilt(CONTROL_PLANE) || onPath('go') !== undefined
      ? undefined
      : 'The local control plane is not built, and "go" is not on the PATH to build it: install Go 1.26 (https://go.dev/dl)',
  start: async ({ say, signal }): Promise<Cluster> => {
    const binaries = await ensureBinaries(CONTROL_PLANE, say, signal)
    const folder = await temporaryFolder('cluster')
    const controlPlane = await startLocalControlPlane({ binaries, folder, guarded: true, signal })
    const run = kubectl(join(binaries, 'kubectl'), [`--kubeconfig=${controlPlane.kubeconfig}`])
    await applyNode(run)
    return {
      kubeconfig: controlPlane.kubeconfig,
      context: controlPlane.context,
      kubectl: run,
      programs: () => Promise.resolve(binaries),
      ours: true,
      stop: async () => {
        await controlPlane.stop()
        await rm(folder, { recursive: true, force: true })
      },
    }
  },
}
