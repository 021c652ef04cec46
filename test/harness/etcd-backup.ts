import { cp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { layoutOf } from '#hack/cluster/local/layout.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { OwnControlPlane } from './controlplane.ts'

/** All that a control plane had stored at a moment. */
export interface EtcdBackup {
  /** Puts it back. Its API server is away meanwhile, as in real life. */
  restore(): Promise<void>
}

type Stopped = Pick<OwnControlPlane, 'kubeconfig' | 'kill' | 'restart'>

/** Nothing writes while it is copied. */
const whileStopped = async (plane: Stopped, copy: () => Promise<void>): Promise<void> => {
  await plane.kill('kube-apiserver')
  await plane.kill('etcd')
  await copy()
  await plane.restart('etcd')
  await plane.restart('kube-apiserver')
}

/** Copies the data of etcd, which is away meanwhile. */
export const backUpEtcd = async (plane: Stopped): Promise<EtcdBackup> => {
  const { data } = layoutOf(dirname(plane.kubeconfig))
  const backup = join(await temporaryFolder('backup'), 'etcd')
  await whileStopped(plane, () => cp(data, backup, { recursive: true }))
  return {
    restore: () =>
      whileStopped(plane, async () => {
        await rm(data, { recursive: true })
        await cp(backup, data, { recursive: true })
      }),
  }
}
