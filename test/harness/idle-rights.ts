import { temporaryFolder } from '#hack/process/folder.ts'
import { CALLED, checkIdleRights } from '#hack/rights/idle.ts'
import { WHOLE_RUN } from '#hack/testing/arguments.ts'

/**
 * vitest's globalSetup for integration tests, the first, so that all control planes have stopped when it ends: a run of every test fails
 * where a controller has a right that none of them needs. What is tried a second time adds to what was called before.
 */
export default async (): Promise<(() => Promise<void>) | undefined> => {
  if (process.env[WHOLE_RUN] === undefined) return undefined
  const folder = process.env[CALLED] ?? (await temporaryFolder('called'))
  process.env[CALLED] = folder
  return () => checkIdleRights(folder)
}
