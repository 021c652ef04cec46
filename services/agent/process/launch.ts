import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorOf } from '#lib/errors/error-of.ts'
import { AGENT_ERRORS } from '../errors.ts'
import type { Program } from '../workload.ts'
import type { LocalPlacement } from '../workload-runner.ts'
import { WORKLOAD_VARIABLE } from './process-table.ts'

/** The program can't be started as it is written. */
export class LaunchError extends errorOf(AGENT_ERRORS, 'LaunchError') {}

export const outputFile = ({ folder }: LocalPlacement): string => join(folder, 'output.log')

/** Variables of ours say where secrets are; programs have no use for them. */
const inherited = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('MUSTER_')))

/** Starts the program as the leader of a group of its own, which does not end with the agent. @throws LaunchError */
export const launch = async (placement: LocalPlacement, program: Program, mark: string): Promise<ChildProcess> => {
  const {
    command: [file, ...args],
    env,
    workingDirectory,
  } = program
  const cwd = workingDirectory ?? join(placement.folder, 'work')
  if (workingDirectory === undefined) await mkdir(cwd, { recursive: true })
  else if (!(await isFolder(cwd))) throw new LaunchError(`there is no folder ${cwd}, which is its workingDirectory`)
  const output = await open(outputFile(placement), 'a', 0o600)
  try {
    const child = spawn(file, args, {
      cwd,
      env: { ...inherited(), ...env, [WORKLOAD_VARIABLE]: mark },
      stdio: ['ignore', output.fd, output.fd],
      detached: true,
    })
    await once(child, 'spawn')
    child.unref()
    return child
  } catch (error) {
    throw new LaunchError(`${file} can't be started: ${reasonOf(error as NodeJS.ErrnoException)}`, { cause: error })
  } finally {
    await output.close()
  }
}

const reasonOf = ({ code, message }: NodeJS.ErrnoException): string => {
  if (code === 'ENOENT') return 'there is no such program on this device'
  return code === 'EACCES' ? 'it is not executable' : message
}

const isFolder = async (path: string): Promise<boolean> => {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}
