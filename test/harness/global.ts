import { postgresMissing } from '#hack/postgres/missing.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { WHOLE_RUN } from '#hack/testing/arguments.ts'
import { requireInCi } from '#hack/testing/ci.ts'
import { checkUncaught, uncaughtOptions } from '#hack/testing/uncaught.ts'

/**
 * vitest's globalSetup for what starts programs: one folder where Node.js keeps what it compiled, for tests start `muster` hundreds of
 * times, and without it each start costs a core nearly a second more. No process of a test may have an error that no code handled: the
 * run fails at its end, also where the test went on because the process began again, or was killed. In CI no test is skipped for want
 * of PostgreSQL.
 */
export default async (): Promise<() => Promise<void>> => {
  requireInCi(postgresMissing())
  const uncaught = await temporaryFolder('uncaught')
  const { NODE_OPTIONS: options = '' } = process.env
  process.env.NODE_OPTIONS = `${options} ${uncaughtOptions(uncaught)}`.trim()
  // Go programs of tests live short and on machines with memory to spare: collecting garbage is a third of what an API server's start costs.
  process.env.GOGC ??= '400'
  process.env.GOMEMLIMIT ??= '1GiB'
  process.env.NODE_COMPILE_CACHE ??= await temporaryFolder('compiled')
  if (process.env[WHOLE_RUN] !== undefined) await (await import('./bundled.ts')).useBundle()
  return async () => {
    process.env.NODE_OPTIONS = options
    await checkUncaught(uncaught)
  }
}
