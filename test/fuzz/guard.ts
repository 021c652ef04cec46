import vm from 'node:vm'

/** Milliseconds after which an input counts as one that never ends: a thousand times what the slowest honest one takes. */
const PATIENCE_MS = 20_000

const call = new vm.Script('work()')
const context = vm.createContext({ work: () => undefined })

/** Runs it, also where it never ends. @throws Error when it was ended, and what it throws itself */
export const withinPatience = (work: () => void): void => {
  context.work = work
  call.runInContext(context, { timeout: PATIENCE_MS })
}
