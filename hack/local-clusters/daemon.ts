/**
 * Programs that live on after the process that started them. Each is found again by a file with its number, so a service that was killed
 * at any moment goes on with what still runs.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { signalGroup } from '../process/child.ts'
import { ProcessError } from '../process/errors.ts'
import { commandLineOf, identify } from '../process/identity.ts'
import { forgetGroup, guardGroup } from '../process/reaper.ts'

export interface Daemon {
  /** Of its pid file and its log. */
  readonly name: string
  /** Its working directory, with its pid file and its log; absolute, and no other program has it in its arguments. */
  readonly folder: string
}

export interface DaemonStart extends Daemon {
  readonly command: string
  /** One of them names the folder: by this the program is told from another one that got its number later. */
  readonly args: readonly string[]
  /** Of ours, where it is not given. */
  readonly env?: NodeJS.ProcessEnv
  /** True: ends with us, however we end. */
  readonly guarded: boolean
}

/**
 * The shell writes its number down before it becomes the program: there is no moment in which the program runs and can't be found. A link is
 * made once, so of two shells one goes on.
 */
const START = 'echo $$ >"$0.$$"; ln "$0.$$" "$0.pid" 2>/dev/null; linked=$?; rm "$0.$$"; [ $linked = 0 ] && exec "$@"'

/** How long a program may take to end after SIGTERM, in milliseconds. */
const GRACE_MS = 10_000
const POLL_INTERVAL_MS = 50
/** A process that still has no arguments then is one of the kernel's. */
const MAX_ATTEMPTS = 20

/** Starts it in a process group of its own. @throws ProcessError */
export const startDaemon = async ({ name, folder, command, args, env, guarded }: DaemonStart): Promise<void> => {
  const log = openSync(logFileOf({ name, folder }), 'a', 0o600)
  const child = spawn('/bin/sh', ['-c', START, name, command, ...args], {
    cwd: folder,
    env: env ?? process.env,
    stdio: ['ignore', log, log],
    detached: true,
  })
  closeSync(log)
  try {
    await once(child, 'spawn')
  } catch (cause) {
    throw new ProcessError(`${name} could not be started: ${(cause as Error).message}`, { cause })
  }
  const pid = child.pid as number
  if (guarded) {
    guardGroup(pid)
    child.once('exit', () => forgetGroup(pid))
  }
  child.unref()
  while (child.exitCode === null && child.signalCode === null && (await findDaemon({ name, folder })) === undefined)
    await delay(POLL_INTERVAL_MS)
}

export const logFileOf = ({ name, folder }: Daemon): string => join(folder, `${name}.log`)

const pidFileOf = ({ name, folder }: Daemon): string => join(folder, `${name}.pid`)

/** Its number while it runs. What the file of one that has ended says is forgotten. */
export const findDaemon = async (daemon: Daemon): Promise<number | undefined> => {
  const pid = Number(await readFile(pidFileOf(daemon), 'utf8').catch(ignoreMissing))
  if (!(pid > 0)) return undefined
  if ((await settledCommandLine(pid))?.includes(daemon.folder)) return pid
  await rm(pidFileOf(daemon), { force: true })
  return undefined
}

/** While a shell becomes its program it has no arguments for a moment, and would be taken for one that has ended. */
const settledCommandLine = async (pid: number): Promise<string | undefined> => {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const command = await commandLineOf(pid)
    if (command !== undefined || (await identify(pid)) === undefined) return command
    await delay(POLL_INTERVAL_MS)
  }
  return undefined
}

const ignoreMissing = (error: NodeJS.ErrnoException): string => {
  if (error.code !== 'ENOENT') throw error
  return ''
}

/** SIGTERM, and SIGKILL after the grace period. Resolves when it is gone. */
export const stopDaemon = async (daemon: Daemon, graceMs = GRACE_MS): Promise<void> => {
  const pid = await findDaemon(daemon)
  if (pid === undefined) return
  signalGroup(pid, 'SIGTERM')
  for (const deadline = performance.now() + graceMs; (await findDaemon(daemon)) === pid; ) {
    if (performance.now() > deadline) signalGroup(pid, 'SIGKILL')
    await delay(POLL_INTERVAL_MS)
  }
}
