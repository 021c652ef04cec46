/**
 * `npm run rights` records what controllers call while their tests run, each as its own ServiceAccount, and writes
 * hack/rights/recorded/; `npm run codegen` then makes their Roles of it. `npm run rights -- sentinel fleet` records these only, and
 * with `--check` nothing is written: it says what is called and not granted, or granted and no longer called.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { glob, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { CONTROLLERS, type ControllerName, rightsByController } from '#cmd/manager/controllers.ts'
import { temporaryFolder } from '../process/folder.ts'
import { readCalls } from './audit-log.ts'
import type { Call } from './call.ts'
import { withoutLuck } from './needs.ts'
import { callsIn, parseRecording, RECORDING, recordingOf, recordingPath, recordingText } from './recording.ts'

const command = new Command('npm run rights --')
  .description('Records what controllers call while their tests run, and writes hack/rights/recorded/.')
  .argument('[controllers...]', `some of ${CONTROLLERS.join(', ')}; all when left out`)
  .option('--check', 'write nothing, and say what is called and not granted, or granted and no longer called')
  .parse()
const [positionals, values] = [command.args, command.opts<{ readonly check?: true }>()]

const isController = (name: string): name is ControllerName => (CONTROLLERS as readonly string[]).includes(name)

/** Runs these tests, and gives what was called and whether they passed. */
const run = async (
  tests: readonly string[],
): Promise<{ readonly calls: readonly Call[]; readonly passed: boolean }> => {
  const folder = await temporaryFolder('recording')
  const vitest = join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', '--project=integration', ...tests], {
    stdio: 'inherit',
    env: { ...process.env, [RECORDING]: folder },
  })
  const [code] = await once(child, 'exit')
  const logs = await Array.fromAsync(glob('*.jsonl', { cwd: folder }))
  const calls = await readCalls(logs.map((log) => join(folder, log)))
  await rm(folder, { recursive: true, force: true })
  return { calls, passed: code === 0 }
}

const recorded = async (controller: ControllerName): Promise<string> =>
  readFile(recordingPath(controller), 'utf8').catch(() => '')

/** @returns whether the recording was as it is committed */
const record = async (controller: ControllerName, calls: readonly Call[], passed: boolean): Promise<boolean> => {
  const grant = rightsByController[controller]
  const { testAccount } = grant
  const own = calls.filter(({ account }) => account === testAccount)
  if (own.length === 0) throw new Error(`${controller}: there was no call as ${testAccount}: see above why`)
  const before = await recorded(controller)
  // Tests that fail have not made every call.
  const kept = passed || before === '' ? [] : callsIn(parseRecording(before))
  const text = recordingText(controller, recordingOf(withoutLuck(grant, [...own, ...kept])))
  if (text === before) return true
  if (!values.check) await writeFile(recordingPath(controller), text)
  console.log(`${controller}: ${values.check ? 'not as recorded' : 'recorded anew'}:\n${text}`)
  return false
}

const unknown = positionals.filter((name) => !isController(name))
if (unknown.length > 0) {
  console.error(
    `there is no controller ${unknown.join(', ')}: write some of ${CONTROLLERS.join(', ')}, or none for all`,
  )
  process.exit(2)
}
const requested = CONTROLLERS.filter((name) => positionals.length === 0 || positionals.includes(name))
// Controllers that share tests are recorded by one run of them.
const runs = Map.groupBy(requested, (name) => rightsByController[name].tests.join(' '))
let isAsCommitted = true
let allPassed = true
for (const [tests, controllers] of runs) {
  const { calls, passed } = await run(tests.split(' '))
  allPassed &&= passed
  for (const controller of controllers) isAsCommitted = (await record(controller, calls, passed)) && isAsCommitted
}
if (!isAsCommitted && !values.check) console.log('Now run "npm run codegen", read the diff, and run the tests again.')
if (!allPassed) console.error('Tests failed: what was recorded before is kept, whether it is still called or not.')
process.exitCode = allPassed && (isAsCommitted || !values.check) ? 0 : 1
