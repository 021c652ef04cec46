import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A process as it can be told apart from a later one that got the same number. */
export interface Identity {
  readonly pid: number
  /** When it started, in the system's own terms. */
  readonly started: string
}

/** The identity of a running process, or undefined when there is none with this number. */
export const identify = async (pid: number): Promise<Identity | undefined> => {
  const started = process.platform === 'linux' ? await startedOnLinux(pid) : await readByPs('lstart=', pid)
  return started === undefined ? undefined : { pid, started }
}

/** Whether exactly that process still runs. */
export const isRunning = async ({ pid, started }: Identity): Promise<boolean> =>
  (await identify(pid))?.started === started

/** What a running process was started with, its arguments parted by spaces; undefined when there is none with this number. */
export const commandLineOf = async (pid: number): Promise<string | undefined> => {
  if (process.platform !== 'linux') return readByPs('args=', pid)
  try {
    // That of a zombie is empty.
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ') || undefined
  } catch (error) {
    if (isNoProcess(error)) return undefined
    throw error
  }
}

const isNoProcess = (error: unknown): boolean =>
  ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Ticks since the boot, and which boot. A zombie doesn't run. */
const startedOnLinux = async (pid: number): Promise<string | undefined> => {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The second field is the command in brackets, which may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z') return undefined
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    return `${boot.trim()} ${fields[19]}`
  } catch (error) {
    if (isNoProcess(error)) return undefined
    throw error
  }
}

const readByPs = async (field: 'lstart=' | 'args=', pid: number): Promise<string | undefined> => {
  try {
    return (await run('ps', ['-o', field, '-p', String(pid)])).stdout.trim() || undefined
  } catch {
    // ps fails when there is no such process.
    return undefined
  }
}
