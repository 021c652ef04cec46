import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { SHIPPED_PROGRAM } from '#hack/build/shipped.ts'
import { type Exit, signalGroup } from '#hack/process/child.ts'
import { forgetGroup, guardGroup } from '#hack/process/reaper.ts'
import { UNHANDLED_REJECTION } from '#lib/process/unhandled-rejections.ts'

/** One line of `muster`'s JSON log. */
export interface LogLine {
  readonly level: string
  readonly time: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** A real `muster` process under test. */
export interface MusterProcess extends AsyncDisposable {
  readonly pid: number
  readonly exited: Promise<Exit>
  /** All of its log so far. */
  log(): readonly LogLine[]
  /** What it wrote so far that isn't log: standard output, and lines of standard error that aren't JSON. */
  output(): string
  /**
   * The first line, past or future, that fits: a message, or a test of the line.
   * @throws what the process said, when it ends without one, or says none in a minute
   */
  line(fits: string | ((line: LogLine) => boolean)): Promise<LogLine>
  signal(signal: NodeJS.Signals): void
  /** SIGTERM, and SIGKILL after 10 s. @throws when it logged a rejected promise that nothing handled */
  stop(): Promise<Exit>
}

/** Milliseconds, from the first question. Long enough for a busy machine; a test that waits longer never says what it waited for. */
const LINE_PATIENCE = 60_000

const PROGRAM = join(import.meta.dirname, '..', '..', 'cmd', 'muster.ts')

/** `muster` of this checkout, or the bundle of it, which starts in half the time. */
export const CHECKOUT: Command = [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  process.env[SHIPPED_PROGRAM] ?? PROGRAM,
]

/** A program, with its first arguments. */
export type Command = readonly [string, ...string[]]

/**
 * Starts `muster` with these arguments; its environment has nothing of ours but PATH, HOME, what global.ts gives to all processes, and what is given.
 * Stop it, or take it with `await using`.
 * @param command what stands before the arguments, where it is not the checkout that runs
 */
export const startMuster = async (
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  [program, ...before]: Command = CHECKOUT,
): Promise<MusterProcess> => {
  const { PATH, HOME, NODE_COMPILE_CACHE, NODE_OPTIONS } = process.env
  const child = spawn(program, [...before, ...args], {
    env: { PATH, HOME, NODE_COMPILE_CACHE, NODE_OPTIONS, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  await once(child, 'spawn')
  const pid = child.pid as number
  guardGroup(pid)
  const lines = readLog(child)
  let exit: Exit | undefined
  // 'close' and not 'exit': by then everything that it wrote has been read.
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      forgetGroup(pid)
      exit = { code, signal }
      lines.end()
      resolve(exit)
    })
  })
  const signal = (name: NodeJS.Signals): void => {
    if (exit === undefined) signalGroup(pid, name)
  }
  const stop = async (): Promise<Exit> => {
    signal('SIGTERM')
    const timer = setTimeout(() => signal('SIGKILL'), 10_000)
    try {
      const exit = await exited
      const lost = lines.log.find(({ msg }) => msg === UNHANDLED_REJECTION)
      if (lost !== undefined) throw new Error(`muster ${args.join(' ')}: ${lost.msg}: ${String(lost.error)}`)
      return exit
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    pid,
    exited,
    signal,
    stop,
    log: () => lines.log,
    output: () => lines.output.join('\n'),
    line: async (fits) => {
      const test = typeof fits === 'string' ? ({ msg }: LogLine) => msg === fits : fits
      const line = await Promise.race([lines.find(test), delay(LINE_PATIENCE, 'late' as const, { ref: false })])
      if (typeof line === 'object') return line
      const how = line === 'late' ? `has run for ${LINE_PATIENCE / 1000} s` : 'ended'
      throw new Error(
        `muster ${args.join(' ')} ${how} without the line ${String(fits)}. It said:\n${lines.everything()}`,
      )
    },
    [Symbol.asyncDispose]: async () => {
      await stop()
    },
  }
}

interface Lines {
  readonly log: readonly LogLine[]
  readonly output: readonly string[]
  /** Undefined when the process ended without such a line. */
  find(fits: (line: LogLine) => boolean): Promise<LogLine | undefined>
  everything(): string
  end(): void
}

const readLog = (child: ChildProcess): Lines => {
  const log: LogLine[] = []
  const output: string[] = []
  const logLines = new EventTarget()
  let ended = false
  createInterface({ input: child.stdout as Readable }).on('line', (text) => output.push(text))
  createInterface({ input: child.stderr as Readable }).on('line', (text) => {
    const line = parse(text)
    if (line === undefined) output.push(text)
    else log.push(line)
    logLines.dispatchEvent(new Event('logLines'))
  })
  return {
    log,
    output,
    find: async (fits) => {
      for (let seen = 0; ; ) {
        for (; seen < log.length; seen++) if (fits(log[seen] as LogLine)) return log[seen]
        if (ended) return undefined
        await once(logLines, 'logLines')
      }
    },
    everything: () => [...log.map((line) => JSON.stringify(line)), ...output].join('\n'),
    end: () => {
      ended = true
      logLines.dispatchEvent(new Event('logLines'))
    },
  }
}

const parse = (text: string): LogLine | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && 'msg' in value ? (value as LogLine) : undefined
  } catch {
    return undefined
  }
}
