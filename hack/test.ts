/**
 * `npm test`: the checks, then every test, on real servers that are built or installed when they are missing.
 * Arguments are vitest's: `npm test -- controllers/sentinel`, `npm test -- --project unit -t backoff`.
 */
import { parseCLI, startVitest } from 'vitest/node'
import { BuildError, ensureBinaries } from './controlplane/build.ts'
import { ensurePostgres } from './postgres/install.ts'
import { runChecks } from './testing/checks.ts'
import { countingReporter } from './testing/reporter.ts'
import { summary, type Tally } from './testing/tally.ts'

const say = (line: string) => console.log(line)

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])

/** Programs that tests need. Without Go the integration tests fail, each saying so; without PostgreSQL its tests skip. */
const prepare = async (): Promise<readonly string[]> => {
  try {
    await ensureBinaries(say)
    await ensurePostgres(say)
    return []
  } catch (error) {
    say(error instanceof BuildError ? error.message : String(error))
    return ['preparing the test servers']
  }
}

const unprepared = await prepare()
const failedChecks = await runChecks(say)
const reporter = countingReporter()
await startVitest([...filter], { ...options, watch: false, reporters: ['default', reporter] })

const { passed, failed, skipped } = reporter.tally()
const tally: Tally = { passed, failed: [...unprepared, ...failedChecks, ...failed], skipped }
console.log()
for (const line of summary(tally)) console.log(line)
process.exitCode = tally.failed.length === 0 ? 0 : 1
