import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type Collect = (options: { readonly type: 'major'; readonly execution: 'sync'; readonly flavor: 'last-resort' }) => void

let collect: Collect | undefined

/** After how many collections without a run V8 takes bytecode for unused; its own number. */
const BYTECODE_OLD_AGE = 6

/**
 * Collects all garbage of this process now and gives the pages back, as V8 by itself does only when memory runs out: a process that
 * has made much and waits from then on would keep it. Bytecode goes, too (RUNTIME-84): most of it ran once, and what runs again is
 * compiled from its source then. It takes 30 ms for what a start leaves, and nothing else runs meanwhile.
 */
export const collectGarbage = (): void => {
  collect ??= exposed()
  setFlagsFromString('--bytecode-old-age=1')
  // Code that has become old in the first one, and what finalizers held, go with the second.
  for (let turn = 0; turn < 2; turn++) collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  setFlagsFromString(`--bytecode-old-age=${BYTECODE_OLD_AGE}`)
}

/** V8 gives the function to contexts that are made while the flag is set, so the program's own has none. */
const exposed = (): Collect => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  return gc
}

/** Collects once, so long from now, what the start of this process leaves (RUNTIME-81); that keeps no process alive. @param wait milliseconds */
export const collectAfterStart = (wait: number): void => {
  setTimeout(collectGarbage, wait).unref()
}
