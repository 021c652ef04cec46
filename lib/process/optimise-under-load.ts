import { setFlagsFromString } from 'node:v8'

/** How often is looked, in milliseconds. */
const INTERVAL_MS = 1000
/** Of one core: less is a process that waits. */
const LOAD = 0.25
/** So many intervals of load after each other; a collection of garbage makes one. */
const BUSY = 2
/** So many more at first: a start is no load. */
const START = 2

const COMPILERS = ['sparkplug', 'maglev', 'opt']

/**
 * Has V8 optimise code from the first load on, and not before (RUNTIME-82). A start runs much code a few times: what is compiled of it
 * is hardly run again, and the compilers keep 10 MB of a process that then waits. To be called before the rest is loaded.
 */
export const optimiseUnderLoad = (): void => {
  setOptimising(false)
  let before = process.cpuUsage()
  let busy = -START
  const timer = setInterval(() => {
    const now = process.cpuUsage()
    const used = now.user + now.system - before.user - before.system
    before = now
    busy = used / 1000 >= LOAD * INTERVAL_MS ? busy + 1 : 0
    if (busy < BUSY) return
    setOptimising(true)
    clearInterval(timer)
  }, INTERVAL_MS)
  timer.unref()
}

const setOptimising = (on: boolean): void => {
  for (const compiler of COMPILERS) setFlagsFromString(on ? `--${compiler}` : `--no-${compiler}`)
}
