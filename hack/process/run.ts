import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { lastLines, type Program, startChild } from './child.ts'
import { ProcessError } from './errors.ts'
import { temporaryFolder } from './folder.ts'

/** A program that ends by itself. */
export type Command = Omit<Program, 'logFile' | 'guarded'>

/**
 * Runs a program to its end, in a process group that ends with us, however we end: some programs, such as unshare, ignore the signals
 * that would stop them.
 * @param signal kills it, with all that it started
 * @returns what it printed, on both streams
 * @throws ProcessError with its last words; the signal's reason
 */
export const runToEnd = async (command: Command, signal?: AbortSignal): Promise<string> => {
  signal?.throwIfAborted()
  const folder = await temporaryFolder('run')
  const logFile = join(folder, 'log')
  try {
    const child = await startChild({ ...command, logFile, guarded: true })
    const kill = () => void child.kill()
    signal?.addEventListener('abort', kill)
    // An abort while it was being started.
    if (signal?.aborted) kill()
    const exit = await child.exited
    signal?.removeEventListener('abort', kill)
    signal?.throwIfAborted()
    if (exit.code === 0) return await readFile(logFile, 'utf8')
    const how = exit.signal ?? `exit ${exit.code}`
    throw new ProcessError(`${child.name} failed (${how}). It said:\n${lastLines(logFile)}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
