/**
 * Programs that have an account of their own for each placement, and no rights but those of that account:
 *
 *   <programs>/          the agent's; everyone can pass through it, and list nothing
 *     <key>/             the account's alone
 *       work/            where the program runs
 *       hold             by which it says "not now"
 *
 * AGENT-42, AGENT-44.
 */
import { type ChildProcess, execFile } from 'node:child_process'
import { mkdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Program } from '../workload.ts'
import type { LocalPlacement } from '../workload-runner.ts'
import type { Accounts } from './accounts.ts'
import { asAccount, confinedCommand, findBadVariable, PROGRESS_DESCRIPTOR, type Progress } from './confined-command.ts'
import { LaunchError, NO_PROGRAM, NOT_EXECUTABLE, outputFile, spawnLeader, withOutput } from './launch.ts'
import { WORKLOAD_VARIABLE } from './process-table.ts'
import type { ProgramHost } from './program-host.ts'
import { giveFolder, moveWork, ownerOf, workOf } from './work-folder.ts'

const run = promisify(execFile)

export interface AccountHostOptions {
  /** The path of util-linux's program. */
  readonly setpriv: string
  /** Where programs have their folders; it is there. */
  readonly folder: string
  readonly accounts: Accounts
}

export const accountHost = ({ setpriv, folder, accounts }: AccountHostOptions): ProgramHost => ({
  problem: undefined,
  uidOf: (key) => accounts.of(key),
  knownUidOf: (key) => accounts.known(key),
  launch: (placement, program, mark) =>
    withOutput(placement, async (output) => {
      const { env, workingDirectory } = program
      const bad = findBadVariable(env)
      if (bad !== undefined)
        throw new LaunchError(`the variable ${JSON.stringify(bad)} can't be handed to it: write letters, digits and _`)
      const uid = await accounts.of(placement.key)
      const home = await prepareHome(join(folder, placement.key), placement, uid)
      // A program may open its output by name, as /dev/stdout.
      await output.chown(uid, uid)
      const place = workingDirectory ?? home
      const command = confinedCommand(setpriv, uid, place, program, home, { [WORKLOAD_VARIABLE]: mark })
      // A folder is entered with the rights of the program, not with those of the agent.
      const child = await spawnLeader({ ...command, cwd: '/', pipe: 'pipe' }, output)
      await untilBegun(child, program, placement)
      return child
    }),
  holdFilesOf: ({ key, folder: own }) => [join(own, 'hold'), join(folder, key, 'hold')],
  async deleteFolder(key) {
    const path = join(folder, key)
    const owner = await ownerOf(path)
    if (owner === undefined) return
    // What was given in part, to this account or from one before, one account can remove only when it has all.
    const uid = accounts.known(key) ?? (owner === agentUid() ? await accounts.of(key) : owner)
    if (owner !== uid) await giveFolder(path, owner, uid)
    // By the account itself: whatever it has put there leads no further than its own rights.
    await run(setpriv, [...asAccount(uid), '/bin/sh', '-c', EMPTY, path], { cwd: '/', env: {} })
    await rmdir(path)
  },
})

const agentUid = (): number => process.getuid?.() ?? 0

/** Also what the program has taken its own rights away from. The folder itself is in one of the agent. */
const EMPTY = 'rm -rf -- "$0"; chmod -R u+rwX "$0"; rm -rf -- "$0"; :'

/** @returns the folder that the program runs in */
const prepareHome = async (path: string, placement: LocalPlacement, uid: number): Promise<string> => {
  const work = workOf(path)
  const owner = await ownerOf(path)
  if (owner === uid) return work
  await moveWork(workOf(placement.folder), work)
  await mkdir(work, { recursive: true, mode: 0o700 })
  await giveFolder(path, owner ?? agentUid(), uid)
  return work
}

/** Until the shell has given way to the program. @throws LaunchError */
const untilBegun = async (
  child: ChildProcess,
  { command: [file], workingDirectory }: Program,
  placement: LocalPlacement,
): Promise<void> => {
  const answer = (await text(child.stdio[PROGRESS_DESCRIPTOR] as NodeJS.ReadableStream)).trim() as Progress
  switch (answer) {
    case 'begun':
      return
    case 'no-folder':
      throw new LaunchError(
        `${workingDirectory ?? 'its folder'}${workingDirectory === undefined ? '' : ', which is its workingDirectory,'} is not there, or its account can't enter it`,
      )
    case 'no-program':
      throw new LaunchError(`${file} can't be started: ${NO_PROGRAM}, or its account can't see it`)
    case 'not-executable':
      throw new LaunchError(`${file} can't be started: ${NOT_EXECUTABLE}`)
    default:
      throw new LaunchError(`its account can't be taken: ${outputFile(placement)} on the device says why`)
  }
}
