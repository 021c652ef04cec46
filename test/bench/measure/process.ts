/** CPU and memory of one process as the kernel counts them; Linux only. */
import { readdirSync, readFileSync } from 'node:fs'

/** Linux' USER_HZ, the unit of /proc/PID/stat: 100 on every architecture that Node.js runs on. */
const TICKS_PER_SECOND = 100

export interface Usage {
  /** User and system time since the process began, milliseconds, in steps of 10. */
  readonly cpuMs: number
  /** Milliseconds on a processor of the threads that are there, to the nanosecond: for little use in a short time. Those that ended are left out. */
  readonly threadsCpuMs: number
  /** Resident now, MiB. */
  readonly rssMiB: number
  /** The highest it ever was (VmHWM), MiB. */
  readonly peakRssMiB: number
}

/** User and system time in milliseconds from the text of /proc/PID/stat. */
export const parseCpuMs = (stat: string): number => {
  // The command's name may hold spaces and parentheses; the fields are counted from behind its last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system] = [Number(fields[11]), Number(fields[12])]
  if (!Number.isFinite(user) || !Number.isFinite(system)) throw new Error(`not a line of /proc/PID/stat: ${stat}`)
  return ((user + system) * 1000) / TICKS_PER_SECOND
}

/** Time on a processor in milliseconds from the text of /proc/PID/task/TID/schedstat, which has nanoseconds. */
export const parseRunMs = (schedstat: string): number => {
  const [nanoseconds] = /^\d+/.exec(schedstat) ?? []
  if (nanoseconds === undefined) throw new Error(`not a line of schedstat: ${schedstat}`)
  return Number(nanoseconds) / 1e6
}

/** A `kB` field of /proc/PID/status in MiB, e.g. VmHWM. */
export const parseMiB = (status: string, field: string): number => {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)
  if (found === null) throw new Error(`no ${field} in /proc/PID/status: the process has ended`)
  return Number(found[1]) / 1024
}

/** What a running process has used. @throws when it has ended. */
export const usageOf = (pid: number): Usage => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return {
    cpuMs: parseCpuMs(readFileSync(`/proc/${pid}/stat`, 'utf8')),
    threadsCpuMs: threadsCpuMs(pid),
    rssMiB: parseMiB(status, 'VmRSS'),
    peakRssMiB: parseMiB(status, 'VmHWM'),
  }
}

const threadsCpuMs = (pid: number): number => {
  const tasks = `/proc/${pid}/task`
  return readdirSync(tasks)
    .map((thread) => parseRunMs(readFileSync(`${tasks}/${thread}/schedstat`, 'utf8')))
    .reduce((sum, milliseconds) => sum + milliseconds, 0)
}
