/**
 * vitest's setup file: says what each test file costs, in core-seconds of its own process and of the processes that it started and that
 * ended. The reporter finds it in the file's `meta`.
 */
/* oxlint-disable no-empty-pattern -- vitest takes nothing else for a context that isn't used */
import { readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Of a file: core-seconds. */
    cost?: { readonly own: number; readonly children: number }
  }
}

/** What Linux counts in: 100 ticks a second on every platform that Node.js runs on. */
const TICKS_PER_SECOND = 100

/** Core-seconds of the processes that this one started and that ended, with what those started. 0 where there is no /proc. */
const ofChildren = (): number => {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND
  } catch {
    return 0
  }
}

const ofUs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

const known = globalThis as { musterCostSoFar?: { readonly own: number; readonly children: number } }
// A process that runs one file counts from its start; one that has run another, from that one's end.
const before = known.musterCostSoFar ?? { own: 0, children: 0 }

// Registered first, so it is called last.
// biome-ignore lint/correctness/noEmptyPattern: the same
afterAll(({}, file) => {
  const now = { own: ofUs(), children: ofChildren() }
  file.meta.cost = { own: now.own - before.own, children: now.children - before.children }
  known.musterCostSoFar = now
})
