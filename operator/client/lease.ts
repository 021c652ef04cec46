import { AbortScope } from '#lib/abort/abort-scope.ts'
import type { Logger } from '../model/log.ts'
import { LeaderElector, LeaseLostError } from './leader-elector.ts'
import type { LeaseOptions } from './lease-options.ts'

export type { LeaseOptions, LeaseTimes } from './lease-options.ts'
export { LeaseLostError }

/**
 * Works while holding a lease, so that of many processes one works at a time: client-go's leader election, for a process
 * or for a single object. Waits for the lease, works, and waits again when the lease was lost. When the work returns or
 * the signal aborts, the lease is released, so that the next one need not wait for it to expire.
 *
 * @param work its signal aborts when the lease is lost (the reason is a LeaseLostError) or when `signal` aborts; it then
 *   has leaseDuration - renewDeadline (5 s) to stop before another may start. RUNTIME-30.
 * @throws what the work throws while its signal has not aborted
 * @example await runWithLease({ api, name: 'muster', namespace, identity, clock, log, signal }, (leading) => run(leading))
 */
export const runWithLease = async (
  options: LeaseOptions,
  work: (leading: AbortSignal) => Promise<void>,
): Promise<void> => {
  const { signal, name } = options
  const log = options.log.child({ lease: name })
  const elector = new LeaderElector({ ...options, log })
  while (await elector.acquire()) {
    log.info('lease acquired')
    const why = await workAndRenew(elector, work, signal, log)
    if (!(why instanceof LeaseLostError)) return
  }
}

/** Runs the work and renews beside it. Comes back when the work has ended, with the reason it was stopped for, if it was. */
const workAndRenew = async (
  elector: LeaderElector,
  work: (leading: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  log: Logger,
): Promise<unknown> => {
  using held = new AbortScope(signal)
  const { signal: leading } = held
  using ended = new AbortScope(leading)
  const renewing = elector.renew(ended.signal).then((error) => {
    if (error === undefined) return
    log.warn(error.message)
    held.abort(error)
  })
  try {
    await work(leading)
  } catch (error) {
    if (!leading.aborted) throw error
    // Most work ends by throwing because it was told to; what else it throws then is worth a line.
    log.debug('the work of a lease ended with an error after it was stopped', { err: error })
  } finally {
    ended.abort()
    await renewing
    await elector.release()
  }
  return leading.reason
}
