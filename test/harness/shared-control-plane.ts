import type { TestProject } from 'vitest/node'
import type { Connection } from './connection.ts'
import { startAudited } from './controlplane.ts'

declare module 'vitest' {
  interface ProvidedContext {
    controlPlane: Connection
  }
}

/** vitest's globalSetup: one control plane for all integration tests of a run. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const { connection, stop } = await startAudited({})
  project.provide('controlPlane', connection)
  return stop
}
