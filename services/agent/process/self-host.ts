/** Programs that have the account of the agent, and its environment: they can do what it can. */
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Program } from '../workload.ts'
import type { LocalPlacement } from '../workload-runner.ts'
import { LaunchError, NO_PROGRAM, NOT_EXECUTABLE, spawnLeader, withOutput } from './launch.ts'
import { WORKLOAD_VARIABLE } from './process-table.ts'
import type { ProgramHost } from './program-host.ts'
import { giveFolder, moveWork, ownerOf, removeFolder, workOf } from './work-folder.ts'

/** Variables of ours say where secrets are; programs have no use for them. */
const inherited = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('MUSTER_')))

/**
 * @param accountsFolder where programs of accounts of their own had their folders
 * @param problem why no program is started, when none is to be
 */
export const selfHost = (accountsFolder: string, problem?: string): ProgramHost => ({
  problem,
  uidOf: async () => undefined,
  knownUidOf: () => undefined,
  launch: (placement, program, mark) =>
    withOutput(placement, async (output) => {
      const {
        command: [file, ...args],
        env,
      } = program
      const cwd = await enterable(placement, program, accountsFolder)
      try {
        return await spawnLeader(
          { file, args, cwd, env: { ...inherited(), ...env, [WORKLOAD_VARIABLE]: mark } },
          output,
        )
      } catch (error) {
        const reason = reasonOf(error as NodeJS.ErrnoException)
        throw new LaunchError(`${file} can't be started: ${reason}`, { cause: error })
      }
    }),
  holdFilesOf: ({ folder }) => [join(folder, 'hold')],
  deleteFolder: (key) => removeFolder(join(accountsFolder, key)),
})

/** @throws LaunchError */
const enterable = async (
  placement: LocalPlacement,
  { workingDirectory }: Program,
  accountsFolder: string,
): Promise<string> => {
  if (workingDirectory !== undefined) {
    if (await isThere(workingDirectory)) return workingDirectory
    throw new LaunchError(`there is no folder ${workingDirectory}, which is its workingDirectory`)
  }
  const [before, cwd] = [workOf(join(accountsFolder, placement.key)), workOf(placement.folder)]
  await moveWork(before, cwd)
  await mkdir(cwd, { recursive: true })
  const [owner, own] = [await ownerOf(cwd), process.getuid?.()]
  if (owner !== undefined && own !== undefined && owner !== own) await giveFolder(cwd, owner, own)
  return cwd
}

const isThere = async (path: string): Promise<boolean> => {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

const reasonOf = ({ code, message }: NodeJS.ErrnoException): string => {
  if (code === 'ENOENT') return NO_PROGRAM
  return code === 'EACCES' ? NOT_EXECUTABLE : message
}
