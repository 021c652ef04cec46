import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { errorOf } from '#lib/errors/error-of.ts'
import { AGENT_ERRORS } from '../errors.ts'
import type { LocalPlacement } from '../workload-runner.ts'

/** The program can't be started as it is written. */
export class LaunchError extends errorOf(AGENT_ERRORS, 'LaunchError') {}

export const outputFile = ({ folder }: LocalPlacement): string => join(folder, 'output.log')

interface Spawned {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** What the program has beside its output. */
  readonly pipe?: 'pipe'
}

/** Starts the leader of a group of its own, which does not end with the agent. @throws the system's error */
export const spawnLeader = async (
  { file, args, cwd, env, pipe }: Spawned,
  output: FileHandle,
): Promise<ChildProcess> => {
  const stdio: StdioOptions = ['ignore', output.fd, output.fd, ...(pipe === undefined ? [] : [pipe])]
  const child = spawn(file, args, { cwd, env, stdio, detached: true })
  await once(child, 'spawn')
  child.unref()
  return child
}

/** @param use has the file open, for appending */
export const withOutput = async <T>(placement: LocalPlacement, use: (file: FileHandle) => Promise<T>): Promise<T> => {
  const output = await open(outputFile(placement), 'a', 0o600)
  try {
    return await use(output)
  } finally {
    await output.close()
  }
}

/** Why the system does not start a program. */
export const NO_PROGRAM = 'there is no such program on this device'
export const NOT_EXECUTABLE = 'it is not executable'
