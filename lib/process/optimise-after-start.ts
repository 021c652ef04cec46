import { setFlagsFromString } from 'node:v8'

/** Of V8, each faster and slower to make than the one before. */
type Compiler = 'sparkplug' | 'maglev' | 'opt'

const COMPILERS: readonly Compiler[] = ['sparkplug', 'maglev', 'opt']

/** CPU is looked at so often, in milliseconds. */
const LOOK_MS = 200

interface StartEnds {
  /** When the process has used so much CPU: a slow or busy machine takes longer for the same start (RUNTIME-85). Milliseconds. */
  readonly cpu: number
  /** After so long in any case. Milliseconds. */
  readonly atMost: number
}

const START: StartEnds = { cpu: 1_000, atMost: 10_000 }

/**
 * Has V8 optimise nothing while the process starts (RUNTIME-82). A start runs much code a few times: what is compiled of it is hardly run
 * again, and the compilers keep 10 MB of a process that then waits. To be called before the rest is loaded.
 * @param after the compilers that are used from then on
 * @returns ends the start now
 */
export const optimiseAfterStart = (
  after: readonly Compiler[] = COMPILERS,
  { cpu, atMost }: StartEnds = START,
): (() => void) => {
  for (const compiler of COMPILERS) setFlagsFromString(`--no-${compiler}`)
  let waited = 0
  const end = (): void => {
    clearInterval(looking)
    for (const compiler of after) setFlagsFromString(`--${compiler}`)
  }
  const look = (): void => {
    waited += LOOK_MS
    const { user, system } = process.cpuUsage()
    if ((user + system) / 1_000 >= cpu || waited >= atMost) end()
  }
  const looking = setInterval(look, LOOK_MS).unref()
  return end
}
