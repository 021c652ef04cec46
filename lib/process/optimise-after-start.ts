import { setFlagsFromString } from 'node:v8'

/** Of V8, each faster and slower to make than the one before. */
type Compiler = 'sparkplug' | 'maglev' | 'opt'

const COMPILERS: readonly Compiler[] = ['sparkplug', 'maglev', 'opt']

/**
 * Has V8 optimise nothing for so long (RUNTIME-82). A start runs much code a few times: what is compiled of it is hardly run again, and
 * the compilers keep 10 MB of a process that then waits. To be called before the rest is loaded.
 * @param wait milliseconds
 * @param after the compilers that are used from then on
 */
export const optimiseAfterStart = (wait: number, after: readonly Compiler[] = COMPILERS): void => {
  for (const compiler of COMPILERS) setFlagsFromString(`--no-${compiler}`)
  const optimise = () => {
    for (const compiler of after) setFlagsFromString(`--${compiler}`)
  }
  setTimeout(optimise, wait).unref()
}
