import { setFlagsFromString } from 'node:v8'

const COMPILERS = ['sparkplug', 'maglev', 'opt']

/**
 * Has V8 optimise nothing for so long (RUNTIME-82). A start runs much code a few times: what is compiled of it is hardly run again, and
 * the compilers keep 10 MB of a process that then waits. To be called before the rest is loaded.
 * @param wait milliseconds
 */
export const optimiseAfterStart = (wait: number): void => {
  setOptimising(false)
  setTimeout(() => setOptimising(true), wait).unref()
}

const setOptimising = (on: boolean): void => {
  for (const compiler of COMPILERS) setFlagsFromString(on ? `--${compiler}` : `--no-${compiler}`)
}
