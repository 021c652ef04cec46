import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ProcessError } from './errors.ts'
import { forgetGroup, guardGroup } from './reaper.ts'

export interface Program {
  /** For messages; the command's name when undefined. */
  readonly name?: string
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** Both output streams are appended here. */
  readonly logFile: string
  /** True: ends with us, however we end. False: lives on after us, until it is stopped by its pid. */
  readonly guarded: boolean
  /** Runs as this user, which only root can ask for. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A process that we started, in a process group of its own, so that Ctrl-C reaches us alone and we stop things in order. */
export interface Child {
  readonly name: string
  readonly pid: number
  readonly logFile: string
  readonly exited: Promise<Exit>
  /** Undefined while it runs. */
  exit(): Exit | undefined
  signal(signal: NodeJS.Signals): void
  /** SIGTERM, and SIGKILL after the grace period (milliseconds). Resolves when it is gone. */
  stop(grace?: number): Promise<Exit>
  /** SIGKILL. Resolves when it is gone. */
  kill(): Promise<Exit>
}

export const startChild = async (program: Program): Promise<Child> => {
  const name = program.name ?? basename(program.command)
  const log = openSync(program.logFile, 'a', 0o600)
  const child = spawn(program.command, [...program.args], {
    cwd: program.cwd,
    env: program.env ?? process.env,
    stdio: ['ignore', log, log],
    detached: true,
    ...program.user,
  })
  closeSync(log)
  let exit: Exit | undefined
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      exit = { code, signal }
      if (program.guarded && child.pid !== undefined) forgetGroup(child.pid)
      resolve(exit)
    })
  })
  try {
    await once(child, 'spawn')
  } catch (cause) {
    throw new ProcessError(`${name} could not be started: ${(cause as Error).message}`, { cause })
  }
  const pid = child.pid as number
  if (program.guarded) guardGroup(pid)
  else child.unref()
  const signal = (signal: NodeJS.Signals): void => {
    if (exit === undefined) signalGroup(pid, signal)
  }
  return {
    name,
    pid,
    logFile: program.logFile,
    exited,
    exit: () => exit,
    signal,
    kill: () => {
      signal('SIGKILL')
      return exited
    },
    stop: async (grace = 10_000) => {
      signal('SIGTERM')
      const timer = setTimeout(() => signal('SIGKILL'), grace)
      try {
        return await exited
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

/** Signals a whole process group; one that is already gone is fine. */
export const signalGroup = (group: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(-group, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** The last lines of a log file, for an error message. */
export const lastLines = (logFile: string, count = 15): string =>
  readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-count).join('\n')

/**
 * Asks again and again until the answer is true.
 * @param timeout milliseconds
 * @throws ProcessError when the process ends first or the time is over, with the last lines of its log
 */
export const untilReady = async (
  child: Child,
  ready: () => Promise<boolean>,
  { timeout = 60_000, interval = 100 }: { timeout?: number; interval?: number } = {},
): Promise<void> => {
  const deadline = performance.now() + timeout
  for (;;) {
    const exit = child.exit()
    if (exit !== undefined) {
      throw new ProcessError(
        `${child.name} ended (${exit.signal ?? `exit ${exit.code}`}) before it was ready. ${lastWords(child)}`,
      )
    }
    if (await ready()) return
    if (performance.now() > deadline) {
      throw new ProcessError(`${child.name} was not ready after ${timeout / 1000} s. ${lastWords(child)}`)
    }
    await delay(interval)
  }
}

const lastWords = (child: Child): string => `Its log, ${child.logFile}, ends with:\n${lastLines(child.logFile)}`
