/**
 * vitest's setup file for tests on real servers: a wait asks less often the longer it lasts. Each look at a server costs 4 ms of a core,
 * a third of it the test's own, and twenty a second for as long as a test waits were a tenth of a core for each file that ran.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { type Check, patient } from './patient.ts'

/** Of what is patient already: files that share a worker share its `vi`. */
const PATIENT = Symbol.for('muster.patient')

type Wait = (check: Check, ...rest: never[]) => unknown

const withPatience = <W extends Wait>(wait: W): W => {
  if (PATIENT in wait) return wait
  const calm = (check: Check, ...rest: never[]) =>
    wait(
      patient(check, () => performance.now(), delay),
      ...rest,
    )
  return Object.assign(calm as W, { [PATIENT]: true })
}

vi.waitFor = withPatience(vi.waitFor)
vi.waitUntil = withPatience(vi.waitUntil)
expect.poll = withPatience(expect.poll)
