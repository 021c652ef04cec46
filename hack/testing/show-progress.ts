import { setInterval } from 'node:timers'
import { liveLine } from './live-line.ts'
import { describeProgress, type Progress } from './progress.ts'

/** Milliseconds between two lines where the output is no terminal. */
const LINE_EVERY = 60_000

/** Keeps people informed: on a terminal a line that is always up to date, else a line a minute. Dispose of it at the end. */
export const showProgress = (progress: () => Progress | undefined, say: (line: string) => void): Disposable => {
  const terminal = process.stdout.isTTY && process.env.CI === undefined
  if (!terminal) {
    const timer = setInterval(() => {
      const now = progress()
      if (now !== undefined) say(`… ${describeProgress(now)}`)
    }, LINE_EVERY)
    return { [Symbol.dispose]: () => clearInterval(timer) }
  }
  const line = liveLine([process.stdout, process.stderr])
  const timer = setInterval(() => {
    const now = progress()
    line.show(now === undefined ? '' : describeProgress(now))
  }, 1000)
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer)
      line[Symbol.dispose]()
    },
  }
}
