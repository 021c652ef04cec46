/**
 * `npm test`: the checks, then every test, on real servers that are built or installed when they are missing.
 * Arguments are vitest's: `npm test -- controllers/sentinel`, `npm test -- --project unit -t backoff`.
 */
import { parseCLI } from 'vitest/node'
import { ARGOCD } from './argocd/binaries.ts'
import { CHROMIUM } from './chromium/missing.ts'
import { CONTROL_PLANE } from './controlplane/binaries.ts'
import { ensureInstalled } from './debian/install.ts'
import { BuildError, ensureBinaries } from './gobuild/build.ts'
import { PODMAN } from './podman/missing.ts'
import { POSTGRES } from './postgres/missing.ts'
import { PROMTOOL } from './prometheus/missing.ts'
import { REDIS } from './redis/missing.ts'
import { runChecks } from './testing/checks.ts'
import { runTests } from './testing/run.ts'
import { summary, total } from './testing/tally.ts'

const say = (line: string) => console.log(line)

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])

/** Programs that tests need. Without Go the integration tests fail, each saying so; without PostgreSQL, Redis, Chromium or podman their tests skip. */
const prepare = async (): Promise<readonly string[]> => {
  try {
    await ensureBinaries(CONTROL_PLANE, say)
    // Minutes of building that only these tests need.
    if (filter.length === 0 || filter.some((path) => /argocd|fire/.test(path))) await ensureBinaries(ARGOCD, say)
    await ensureInstalled([POSTGRES, REDIS, CHROMIUM, PROMTOOL, ...PODMAN], say)
    return []
  } catch (error) {
    say(error instanceof BuildError ? error.message : String(error))
    return ['preparing the test servers']
  }
}

const unprepared = await prepare()
const failedChecks = await runChecks(say)
// Two cores run hundreds of processes here, so a whole run gives what failed a second try; who asks for a test wants to see it fail.
const again = process.argv.length === 2
const { tally: tests, unsteady } = await runTests({ filter, options, again }, say)
const tally = total([{ passed: 0, failed: [...unprepared, ...failedChecks], skipped: [] }, tests])
console.log()
for (const line of summary(tally, unsteady)) console.log(line)
process.exitCode = tally.failed.length === 0 ? 0 : 1
