import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '../process/folder.ts'
import type { ClusterProvider } from './cluster.ts'
import { kubectl } from './kubectl.ts'
import { startLocalControlPlane } from './local/controlplane.ts'
import { PARTS } from './local/layout.ts'
import { applyNode } from './local/node.ts'

/** envtest's three; anything else in the folder is used too. */
const NEEDED = ['etcd', 'kube-apiserver', 'kubectl'] as const

/** A control plane from the binaries in `$KUBEBUILDER_ASSETS`, as `setup-envtest` installs them. */
export const assets: ClusterProvider = {
  title: 'the control plane in KUBEBUILDER_ASSETS',
  unavailable: async () => {
    const folder = process.env.KUBEBUILDER_ASSETS
    if (!folder) return 'KUBEBUILDER_ASSETS is not set: set it to a folder with etcd, kube-apiserver and kubectl'
    const missing = NEEDED.filter((name) => !existsSync(join(folder, name)))
    return missing.length === 0
      ? undefined
      : `KUBEBUILDER_ASSETS (${folder}) lacks ${missing.join(', ')}: add them, or unset it`
  },
  start: async ({ signal }) => {
    const binaries = process.env.KUBEBUILDER_ASSETS as string
    const folder = await temporaryFolder('cluster')
    const parts = PARTS.filter((part) => existsSync(join(binaries, part)))
    const local = await startLocalControlPlane({ binaries, folder, parts, guarded: true, signal })
    const run = kubectl(join(binaries, 'kubectl'), [`--kubeconfig=${local.kubeconfig}`])
    if (parts.includes('kwok')) await applyNode(run)
    return {
      kubeconfig: local.kubeconfig,
      context: local.context,
      kubectl: run,
      ours: true,
      stop: async () => {
        await local.stop()
        await rm(folder, { recursive: true, force: true })
      },
    }
  },
}
