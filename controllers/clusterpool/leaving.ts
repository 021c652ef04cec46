/** When a pool that is being deleted looks again: its clusters and their leases wait for it, and no watch may tell. POOL-38. */
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { type Context, type MayWait, TemporaryError } from '#operator/index.ts'
import { type ExponentialBackoff, exponentialDelay } from '#operator/model/outcome.ts'

const RECHECK_MS = 15_000
const RETRY: ExponentialBackoff = { initial: 500, factor: 2, max: RECHECK_MS }

/** A pass; `requeueAfter` in milliseconds. */
type Pass = (context: Context<ClusterPool>) => Promise<{ readonly requeueAfter: number }>

/**
 * @returns the pass, which comes again at most 15 s later while the pool is being deleted, whether it failed or not
 * @throws what the pass failed with, while the pool is not being deleted; TemporaryError
 */
export const soonWhileLeaving =
  (pass: Pass) =>
  async (context: Context<ClusterPool>): Promise<MayWait> => {
    if (context.object.metadata.deletionTimestamp === undefined) return pass(context)
    try {
      const { requeueAfter } = await pass(context)
      return { requeueAfter: Math.min(requeueAfter, RECHECK_MS) }
    } catch (error) {
      throw new TemporaryError(messageOf(error), {
        cause: error,
        delay: exponentialDelay(RETRY, context.retry.count + 1),
      })
    }
  }
