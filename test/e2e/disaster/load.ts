/** What goes on while things go back in time: the commits of a day of test/e2e/fire, to one pool. */
import type { DeclaredPool } from '#test/worlds/suite/declared.ts'
import { dayOf } from '../fire/day.ts'
import { repeat, type Working } from './repeat.ts'

/** Between two commits, in milliseconds: two cores install a cluster in less. */
const INTERVAL_MS = 4_000
/** The same commits in every run. */
const SEED = 17
/** More than any run makes. */
const COMMITS = 1_000

/** It rests at first. @param commit is told what is declared of the pool from then on */
export const startLoad = (commit: (message: string, declared: DeclaredPool) => void): Working => {
  const duration = COMMITS * INTERVAL_MS
  const day = dayOf({ seed: SEED, duration, pace: INTERVAL_MS, pools: ['south'], keepsPools: true }).values()
  const load = repeat(INTERVAL_MS, async () => {
    const { message = '', declared } = day.next().value ?? {}
    if (declared !== undefined) commit(message, declared)
  })
  load.rest()
  return load
}
