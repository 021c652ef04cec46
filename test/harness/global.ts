import { rm } from 'node:fs/promises'
import type { TestProject } from 'vitest/node'
import { startLocalControlPlane } from '#hack/cluster/local/controlplane.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { postgresMissing } from '#hack/postgres/missing.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { WHOLE_RUN } from '#hack/testing/arguments.ts'
import { requireInCi } from '#hack/testing/ci.ts'
import { checkUncaught, uncaughtOptions } from '#hack/testing/uncaught.ts'
import { checkCalls } from './calls.ts'
import type { Connection } from './connection.ts'
import { connectionOf } from './controlplane.ts'
import { installCrds } from './crds.ts'

declare module 'vitest' {
  interface ProvidedContext {
    controlPlane: Connection
  }
}

/**
 * vitest's globalSetup: one control plane for all integration tests of a run, and one folder where Node.js keeps what it compiled:
 * tests start `muster` hundreds of times, and without it each start costs a core nearly a second more. No process of a test may have
 * an error that no code handled: the run fails at its end, also where the test went on because the process began again, or was killed.
 * In CI no test is skipped for want of PostgreSQL.
 */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  requireInCi(postgresMissing())
  const uncaught = await temporaryFolder('uncaught')
  process.env.NODE_OPTIONS = [process.env.NODE_OPTIONS ?? '', uncaughtOptions(uncaught)].join(' ').trim()
  // Go programs of tests live short and on machines with memory to spare: collecting garbage is a third of what an API server's start costs.
  process.env.GOGC ??= '400'
  process.env.GOMEMLIMIT ??= '1GiB'
  process.env.NODE_COMPILE_CACHE ??= await temporaryFolder('compiled')
  if (process.env[WHOLE_RUN] !== undefined) await (await import('./bundled.ts')).useBundle()
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
    await checkUncaught(uncaught)
  }
}
