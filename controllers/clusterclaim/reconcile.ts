/** One pass over a claim: observe → decide → execute. */
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { type Context, isConflict, isNotFound, type MayWait } from '#operator/index.ts'
import { decide, withGrantRejection } from './decide.ts'
import { addFinalizer, CONFLICT_RETRY_MS, execute, writeStatus } from './execute.ts'
import { grantSubjects } from './grant-writes.ts'
import { type ClaimIndexes, observe } from './observe.ts'

/** @returns the handler of `reconcile` */
export const reconcile =
  (indexes: ClaimIndexes) =>
  async (context: Context<ClusterClaim>): Promise<MayWait> => {
    try {
      return await pass(indexes, context)
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return { requeueAfter: CONFLICT_RETRY_MS }
      throw error
    }
  }

const pass = async (indexes: ClaimIndexes, context: Context<ClusterClaim>): Promise<MayWait> => {
  const claim = await addFinalizer(context)
  const { observed, cluster } = observe(claim, indexes)
  const now = context.clock.now()
  const decided = decide(observed, now)
  // Granted before the status is written, which says whether it could be.
  const rejection =
    decided.action === 'GrantSubjects' && cluster && (await grantSubjects(claim, cluster, indexes, context.api))
  const decision = rejection ? withGrantRejection(decided, observed, rejection) : decided
  await writeStatus(claim, decision, context)
  await execute(claim, cluster, decision, indexes, context)
  if (rejection) throw rejection
  const { recheckAt } = decision
  return recheckAt && { requeueAfter: Math.max(0, recheckAt.getTime() - now.getTime()) }
}
