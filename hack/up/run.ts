import { setTimeout as delay } from 'node:timers/promises'
import { type Child, lastLines } from '../process/child.ts'
import { ProcessError } from '../process/errors.ts'
import type { Screen } from './screen.ts'

/** The person wants it to end. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** One run of `npm run up`: its steps, and what undoes them. */
export interface Run {
  /** Aborts when the run has to end: with Interrupted, or with the reason of a failure. */
  readonly signal: AbortSignal
  /** Does one step. @throws ProcessError, or Interrupted */
  step<T>(title: string, work: (note: (line: string) => void) => Promise<T>, result?: (value: T) => string): Promise<T>
  /** Remembers how to undo what a step did, as soon as there is something to undo. Without a title it is done in silence. */
  undo(title: string | undefined, work: () => Promise<void>): void
  /** From now on the run fails when this process ends by itself. @param name for the message; that of the process when left out */
  watch(child: Child, name?: string): void
  /** Ends the run. */
  abort(reason: Error): void
  /** Undoes all steps, the last one first; what fails is said and does not stop the others. */
  finish(): Promise<void>
}

/** How long an interrupted step may take to come to its end before it is left alone, in milliseconds. */
const PATIENCE = 5_000

export const createRun = (screen: Screen): Run => {
  const ending = new AbortController()
  const undos: { readonly title: string | undefined; readonly work: () => Promise<void> }[] = []
  let finishing = false
  const aborted = new Promise<never>((_, reject) => {
    ending.signal.addEventListener('abort', () => reject(ending.signal.reason as Error))
  })
  aborted.catch(() => undefined)

  return {
    signal: ending.signal,
    step: async (title, work, result = () => '') => {
      ending.signal.throwIfAborted()
      screen.begin(title)
      const working = work(screen.note)
      try {
        const value = await Promise.race([working, aborted])
        screen.done(result(value))
        return value
      } catch (error) {
        screen.failed()
        await Promise.race([working.catch(() => undefined), delay(PATIENCE, undefined, { ref: false })])
        if (error instanceof Interrupted) throw error
        const reason = error instanceof Error ? error.message : String(error)
        throw new ProcessError(`"${title}" failed: ${reason}`, { cause: error })
      }
    },
    undo: (title, work) => {
      undos.push({ title, work })
    },
    watch: (child, name = child.name) => {
      void child.exited.then(({ code, signal }) => {
        if (finishing) return
        const how = signal ?? `exit ${code}`
        const words = `Its log, ${child.logFile}, ends with:\n${lastLines(child.logFile)}`
        ending.abort(new ProcessError(`${name} ended (${how}). ${words}`))
      })
    },
    abort: (reason) => ending.abort(reason),
    finish: async () => {
      finishing = true
      for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
        if (undo.title !== undefined) screen.begin(undo.title)
        try {
          await undo.work()
          if (undo.title !== undefined) screen.done('')
        } catch (error) {
          if (undo.title !== undefined) screen.failed()
          screen.print(`    ${(error as Error).message}`)
        }
      }
    },
  }
}
