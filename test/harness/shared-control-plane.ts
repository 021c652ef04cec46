import { rm } from 'node:fs/promises'
import type { TestProject } from 'vitest/node'
import { startLocalControlPlane } from '#hack/cluster/local/controlplane.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { checkCalls } from './calls.ts'
import type { Connection } from './connection.ts'
import { connectionOf } from './controlplane.ts'
import { installCrds } from './crds.ts'

declare module 'vitest' {
  interface ProvidedContext {
    controlPlane: Connection
  }
}

/** vitest's globalSetup: one control plane for all integration tests of a run. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const binaries = await ensureBinaries(CONTROL_PLANE, console.error)
  const folder = await temporaryFolder('controlplane')
  const local = await startLocalControlPlane({
    binaries,
    folder,
    guarded: true,
    audited: true,
    parts: ['etcd', 'kube-apiserver', 'kube-controller-manager'],
  })
  const connection = await connectionOf(local, binaries)
  await installCrds(connection)
  project.provide('controlPlane', connection)
  return async () => {
    await local.stop()
    await checkCalls(folder)
    await rm(folder, { recursive: true, force: true })
  }
}
