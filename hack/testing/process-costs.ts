import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { programName } from './program-name.ts'

/** What the processes of one program cost. */
export interface ProgramCost {
  readonly name: string
  readonly processes: number
  readonly coreSeconds: number
}

/** Looks at the processes that we started, and at those that they started. */
export interface ProcessCosts {
  /** To be called every few seconds: what a process did after the last look at it, and one that lives shorter, is missed. */
  look(): void
  /** The most expensive first. Empty where there is no /proc. */
  programs(): readonly ProgramCost[]
  /**
   * Core-seconds since the begin in which the machine's processors were busy, also with what is not ours: what ends in a container, or
   * has left its parent, is in no count of ours.
   */
  busy(): number
}

interface Seen {
  name: string
  ticks: number
}

interface Stat {
  readonly pid: number
  readonly parent: number
  /** Its file's name, cut to 15 characters: all that is left of a process that has ended. */
  readonly command: string
  /** Since the boot: tells a process from a later one with the same number. */
  readonly started: string
  readonly ticks: number
  readonly endedTicks: number
}

/** Ticks of a core a second, as Linux counts them. */
const TICKS_PER_SECOND = 100

export const processCosts = (): ProcessCosts => {
  const seen = new Map<string, Seen>()
  // A process whose parent ended belongs to init then, but it is still one of ours.
  const ours = new Set<string>()
  const before = busySeconds()
  return {
    look: () => {
      const stats = new Map(allProcesses().map((stat) => [stat.pid, stat]))
      const isOurs = (stat: Stat): boolean => {
        if (stat.pid === process.pid || ours.has(keyOf(stat))) return true
        const parent = stats.get(stat.parent)
        return parent !== undefined && isOurs(parent)
      }
      for (const stat of stats.values()) {
        const key = keyOf(stat)
        if (!isOurs(stat)) continue
        ours.add(key)
        // Between fork and exec a process has its parent's command line, so the name is taken anew.
        const last = seen.get(key)
        const own = stat.pid === process.pid ? 'test runner' : programName(commandLine(stat.pid))
        const name = own || (last?.name ?? stat.command)
        seen.set(key, { name, ticks: Math.max(stat.ticks, last?.ticks ?? 0) })
      }
    },
    programs: () => {
      const byName = Map.groupBy(seen.values(), ({ name }) => name)
      return [...byName]
        .map(([name, of]) => ({
          name,
          processes: of.length,
          coreSeconds: of.reduce((sum, { ticks }) => sum + ticks, 0) / TICKS_PER_SECOND,
        }))
        .toSorted((a, b) => b.coreSeconds - a.coreSeconds)
    },
    busy: () => busySeconds() - before,
  }
}

const keyOf = ({ pid, started }: Stat): string => `${pid} ${started}`

const allProcesses = (): readonly Stat[] => {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => readStat(Number(pid)) ?? [])
  } catch {
    return []
  }
}

const readStat = (pid: number): Stat | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the command in brackets, which may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const number = (index: number) => Number(fields[index])
    return {
      pid,
      parent: number(1),
      command: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
      started: fields[19] ?? '',
      ticks: number(11) + number(12),
      endedTicks: number(13) + number(14),
    }
  } catch {
    return undefined
  }
}

const commandLine = (pid: number): readonly string[] => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      .split('\0')
      .filter((arg) => arg !== '')
  } catch {
    return []
  }
}

/** Of all processors since the machine began, in seconds. */
const busySeconds = (): number =>
  cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0) / 1000
