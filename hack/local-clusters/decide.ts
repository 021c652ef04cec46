/** What is to be done next about a cluster, and how it stands. Pure. */
import type { Part } from './control-plane.ts'
import type { Power } from './record.ts'

export interface Observed {
  readonly power: Power
  readonly deleting: boolean
  readonly apiServer: 'absent' | 'starting' | 'ready'
  readonly controllerManager: 'absent' | 'running'
  /** How often in a row its API server ended before it was ready. */
  readonly failures: number
  /** Before this its API server is not started again, in milliseconds since the epoch. */
  readonly retryAt: number
}

export type Step =
  | { readonly do: 'Start' | 'Stop'; readonly part: Part }
  /** Its keys in etcd and its folder. */
  | { readonly do: 'RemoveData' }
  /** Something comes by itself. */
  | { readonly do: 'Wait' }
  | { readonly do: 'Nothing' }

export type State = 'Starting' | 'Running' | 'Stopping' | 'Hibernating' | 'Deleting'

const stop = (part: Part): Step => ({ do: 'Stop', part })
const start = (part: Part): Step => ({ do: 'Start', part })

export const nextStep = (observed: Observed, now: number): Step => {
  const { power, deleting, apiServer, controllerManager, retryAt } = observed
  if (deleting || power === 'Hibernating') {
    if (controllerManager !== 'absent') return stop('kube-controller-manager')
    if (apiServer !== 'absent') return stop('kube-apiserver')
    return { do: deleting ? 'RemoveData' : 'Nothing' }
  }
  if (apiServer === 'absent') return now < retryAt ? { do: 'Wait' } : start('kube-apiserver')
  if (apiServer === 'starting') return { do: 'Wait' }
  return controllerManager === 'absent' ? start('kube-controller-manager') : { do: 'Nothing' }
}

export const stateOf = ({ power, deleting, apiServer, controllerManager }: Observed): State => {
  if (deleting) return 'Deleting'
  if (power === 'Running') return apiServer === 'ready' && controllerManager === 'running' ? 'Running' : 'Starting'
  return apiServer === 'absent' && controllerManager === 'absent' ? 'Hibernating' : 'Stopping'
}

const LONGEST_RETRY_DELAY_MS = 30_000

/** Doubles from a second on. @param failures in a row, from 1 */
export const retryDelay = (failures: number): number => Math.min(1_000 * 2 ** (failures - 1), LONGEST_RETRY_DELAY_MS)

/** From so many failures in a row on, a start is said to have failed. It is tried all the same. */
const FAILED_AFTER = 3

export interface Readiness {
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
}

/** Whether the cluster is as it was asked for: hibernated clusters can be. Unknown says that it is on its way. @param lastWords of its API server's log */
export const readinessOf = (observed: Observed, lastWords: string): Readiness => {
  const state = stateOf(observed)
  if (state === observed.power)
    return { status: 'True', reason: state, message: `the cluster is ${state.toLowerCase()}` }
  if (state === 'Starting' && observed.failures >= FAILED_AFTER)
    return {
      status: 'False',
      reason: 'StartFailed',
      message: `its API server ended ${observed.failures} times before it was ready: ${lastWords}`,
    }
  return { status: 'Unknown', reason: state, message: `the cluster is ${state.toLowerCase()}` }
}
