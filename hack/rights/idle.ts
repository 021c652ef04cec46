/** Rights that were recorded and that no test needs any more. */
import { existsSync } from 'node:fs'
import { glob, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CONTROLLERS, rightsByController } from '#cmd/manager/controllers.ts'
import type { Call } from './call.ts'
import { callsIn, parseRecording, type Recording, recordingPath } from './recording.ts'
import { describeRight } from './rule.ts'

/** The environment variable that names the folder in which a run of every test leaves what controllers called. */
export const CALLED = 'MUSTER_CALLED'

/** Keeps the calls of one control plane for the end of the run. @param name of the control plane, told from others */
export const keepCalls = (folder: string, name: string, calls: readonly Call[]): Promise<void> =>
  writeFile(join(folder, `${name}.json`), JSON.stringify(calls))

/** What a recording has and an account did not call. Verbs that are kept on purpose are no part of a recording: `rare`, with the reason. Pure. */
export const idleRights = (recording: Recording, account: string, calls: readonly Call[]): readonly string[] => {
  const own = new Set(
    calls.filter((call) => call.account === account).map(({ verb, group, resource }) => `${verb} ${group}/${resource}`),
  )
  return callsIn(recording)
    .filter(({ verb, group, resource }) => !own.has(`${verb} ${group}/${resource}`))
    .map(({ verb, group, resource }) => describeRight(verb, group, resource))
}

/**
 * At the end of a run of every test: each verb that a Role has by a recording was called.
 * @param folder that `keepCalls` wrote into @throws Error that names those that were not
 */
export const checkIdleRights = async (folder: string): Promise<void> => {
  const files = await Array.fromAsync(glob('*.json', { cwd: folder }))
  const kept = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  const calls = kept.flatMap((text) => JSON.parse(text) as Call[])
  const idle = await Promise.all(
    CONTROLLERS.filter((controller) => existsSync(recordingPath(controller))).map(async (controller) => {
      const recording = parseRecording(await readFile(recordingPath(controller), 'utf8'))
      return idleRights(recording, rightsByController[controller].testAccount, calls).map(
        (right) => `  ${controller}: ${right}`,
      )
    }),
  )
  if (idle.flat().length === 0) return
  const remedy =
    'if all tests passed, record them with "npm run rights", or say in `rare` of the entry why they are kept: docs/decisions/rights-from-calls.md'
  throw new Error(`controllers have rights that no test needs any more, ${remedy}\n${idle.flat().join('\n')}`)
}
