import { setTimeout as delay } from 'node:timers/promises'
import { type Child, lastLines, type Program, startChild } from '#hack/process/child.ts'

/** One life of a process that ended. */
export interface End {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** A signal's name, or `exit <code>`. */
  readonly how: string
  /** Whether it had begun to work. */
  readonly worked: boolean
  /** Whether it was killed on purpose. */
  readonly killed: boolean
}

/** A process that begins again whenever it ends, with the same arguments, as a kubelet has it. */
export interface Supervised extends AsyncDisposable {
  readonly name: string
  readonly logFile: string
  /** Its lives so far, the one that goes on not counted. */
  ends(): readonly End[]
  /** SIGKILL; resolves when it is gone. It begins again by itself. */
  kill(): Promise<void>
  /** SIGTERM, as an update does it; resolves when it is gone. It begins again by itself. */
  restart(): Promise<void>
  /** SIGTERM, and it does not begin again before `resume`: a Deployment that is scaled to 0. */
  pause(): Promise<void>
  resume(): void
  /** Resolves when it works. @throws Error with the last lines of its log when that takes too long */
  ready(): Promise<void>
  /** For good. */
  stop(): Promise<void>
}

/** Between two lives, in milliseconds: doubled while they end before they work, as a kubelet does it, but sooner. */
const PAUSE = { first: 200, most: 3_000 }

/** How long a process may take until it works, in milliseconds: many start at once on few cores. */
const PATIENCE = 180_000

/** @param isReady asked again and again after each start */
export const supervise = async (program: Program, isReady: () => Promise<boolean>): Promise<Supervised> => {
  const ending = new AbortController()
  const ends: End[] = []
  let killing = false
  /** Resolves when it may begin again. */
  let paused = Promise.resolve()
  let resume: () => void = () => undefined
  let child: Child = await startChild(program)

  const live = async (): Promise<void> => {
    for (let pause = PAUSE.first; ; pause = Math.min(2 * pause, PAUSE.most)) {
      const worked = await Promise.race([child.exited.then(() => false), untilReady()])
      const { code, signal } = await child.exited
      ends.push({ at: Date.now(), how: signal ?? `exit ${code}`, worked, killed: killing })
      killing = false
      if (worked) pause = PAUSE.first
      await delay(pause, undefined, { signal: ending.signal, ref: false }).catch(() => undefined)
      await paused
      if (ending.signal.aborted) return
      child = await startChild(program)
    }
  }
  const untilReady = async (): Promise<boolean> => {
    const mine = child
    while (mine.exit() === undefined) {
      if (await isReady()) return true
      await delay(100)
    }
    return false
  }
  const living = live()

  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    const mine = child
    if (mine.exit() !== undefined) return
    killing = true
    if (signal === 'SIGKILL') await mine.kill()
    else await mine.stop()
  }
  const stop = async (): Promise<void> => {
    if (ending.signal.aborted) return
    ending.abort()
    resume()
    await end('SIGTERM')
    await living
  }
  return {
    name: program.name ?? program.command,
    logFile: program.logFile,
    ends: () => ends,
    kill: () => end('SIGKILL'),
    restart: () => end('SIGTERM'),
    pause: () => {
      resume()
      const { promise, resolve } = Promise.withResolvers<void>()
      paused = promise
      resume = resolve
      return end('SIGTERM')
    },
    resume: () => resume(),
    ready: async () => {
      const deadline = performance.now() + PATIENCE
      while (child.exit() !== undefined || !(await isReady())) {
        if (performance.now() > deadline)
          throw new Error(`${program.name} does not work. Its log ends with:\n${lastLines(program.logFile)}`)
        await delay(100)
      }
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
