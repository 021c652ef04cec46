/** The processes of this machine, as far as an agent must know them: which is which after the agent itself was killed. */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** A process that can't be mistaken for a later one with the same number. */
export interface ProcessIdentity {
  readonly pid: number
  /** When it began, in the system's own words. */
  readonly started: string
}

/** Of processes that an agent starts, and of what these start: whose they are. */
export const WORKLOAD_VARIABLE = 'MUSTER_WORKLOAD'

const isLinux = process.platform === 'linux'

/** The process that has this number now; undefined when none has, or only what is left of one that ended. */
export const identify = (pid: number): Promise<ProcessIdentity | undefined> => (isLinux ? fromProc(pid) : fromPs(pid))

export const isAlive = async ({ pid, started }: ProcessIdentity): Promise<boolean> =>
  (await identify(pid))?.started === started

/** Of a process that was just started, be it over already. */
export const identityOf = async (pid: number): Promise<ProcessIdentity> => {
  if (!isLinux) return (await fromPs(pid)) ?? { pid, started: UNKNOWN_START }
  return { pid, started: await startOf(await statOf(pid)) }
}

/**
 * Whether the number is still that of the group that it leads or led. It is given to no other while anything of the group
 * lives: a process that has it otherwise, or has it after a restart of the machine, is a stranger.
 */
export const ownsGroup = async ({ pid, started }: ProcessIdentity): Promise<boolean> => {
  if (!isLinux) return [undefined, started].includes((await fromPs(pid))?.started)
  const stat = await statOf(pid)
  return stat === undefined ? started.startsWith(`${await bootId()} `) : (await startOf(stat)) === started
}

/** Instead of the start of a process that was over before it could be looked at. */
const UNKNOWN_START = 'gone'

/** `/proc/<pid>/stat`, whose second field is a name in parentheses that may hold anything. @param pid also `<pid>/task/<thread>` */
const statOf = async (pid: number | string): Promise<readonly string[] | undefined> => {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** Fields of proc(5), counted from the third. */
const STATE = 0
const GROUP = 2
const START_TIME = 19

let boot: Promise<string> | undefined
/** Start times count from the start of the machine. */
const bootId = (): Promise<string> => {
  boot ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8').then((text) => text.trim())
  return boot
}

const fromProc = async (pid: number): Promise<ProcessIdentity | undefined> => {
  const stat = await statOf(pid)
  if (stat === undefined || (await hasEnded(pid))) return undefined
  return { pid, started: await startOf(stat) }
}

/** Whether nothing of a process runs any more. Its first thread may end before the others: the process then only seems to have ended. */
export const hasEnded = async (pid: number): Promise<boolean> => {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const states = await Promise.all(
    threads.map(async (thread) => (await statOf(`${pid}/task/${thread}`))?.[STATE] ?? 'X'),
  )
  return states.every((state) => state === 'Z' || state === 'X')
}

const startOf = async (stat: readonly string[] | undefined): Promise<string> =>
  `${await bootId()} ${stat?.[START_TIME] ?? UNKNOWN_START}`

const fromPs = async (pid: number): Promise<ProcessIdentity | undefined> => {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=,lstart=', '-p', String(pid)])
    const [state = '', ...started] = stdout.trim().split(/\s+/)
    return state.startsWith('Z') ? undefined : { pid, started: started.join(' ') }
  } catch {
    return undefined
  }
}

/**
 * The leaders of process groups whose mark begins so: finds what an agent started and was killed before it wrote that down.
 * Only where there is /proc; elsewhere nothing is found.
 */
export const findMarkedLeaders = async (beginning: string): Promise<readonly ProcessIdentity[]> => {
  if (!isLinux) return []
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 1)
  const found = await Promise.all(
    pids.map(async (pid) => {
      const isMarked = (await environment(pid)).some((variable) =>
        variable.startsWith(`${WORKLOAD_VARIABLE}=${beginning}`),
      )
      if (!isMarked) return undefined
      const group = (await statOf(pid))?.[GROUP]
      return group === String(pid) ? identify(pid) : undefined
    }),
  )
  return found.filter((identity) => identity !== undefined)
}

/** Empty for processes of others. */
const environment = async (pid: number): Promise<readonly string[]> => {
  try {
    return (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0')
  } catch {
    return []
  }
}
