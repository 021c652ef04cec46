/** One pass over a claim: observe → decide → execute. */
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ApiError, type Context, isConflict, isNotFound, type MayWait } from '#operator/index.ts'
import { countConflict, forgetConflicts } from '#operator/model/conflict-retry.ts'
import { decide, type WriteRejection, withFinalizerRejection, withGrantRejection } from './decide.ts'
import { addFinalizer, execute, writeStatus } from './execute.ts'
import { grantSubjects } from './grant-writes.ts'
import { type ClaimIndexes, observe } from './observe.ts'
import { isNamespaceOfCluster } from './pool-namespace.ts'

/** When a cluster is looked at again that lies in no namespace of a pool's cluster. */
const STRANGE_RECHECK_MS = 15_000

/** @returns the handler of `reconcile` */
export const reconcile =
  (indexes: ClaimIndexes) =>
  async (context: Context<ClusterClaim>): Promise<MayWait> => {
    try {
      const wait = await pass(indexes, context)
      forgetConflicts(context.memo)
      return wait
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return { requeueAfter: countConflict(context.memo) }
      throw error
    }
  }

const pass = async (indexes: ClaimIndexes, context: Context<ClusterClaim>): Promise<MayWait> => {
  const claim = await addFinalizer(context).catch(async (error: unknown) => {
    if (error instanceof ApiError && !isConflict(error) && !isNotFound(error))
      await reportRejection(indexes, context, error)
    throw error
  })
  const seen = observe(claim, indexes)
  const isOfPool = seen.cluster !== undefined && (await isNamespaceOfCluster(claim.spec.namespace ?? '', context.api))
  const cluster = isOfPool ? seen.cluster : undefined
  const observed = isOfPool ? seen.observed : { ...seen.observed, cluster: undefined }
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
  // The labels of a namespace from a backup may come later, and no watch tells of them.
  if (seen.cluster !== undefined && !isOfPool) return { requeueAfter: STRANGE_RECHECK_MS }
  return recheckAt && { requeueAfter: Math.max(0, recheckAt.getTime() - now.getTime()) }
}

/** Where a person looks: a claim that is new has no status that would say anything. */
const reportRejection = async (
  indexes: ClaimIndexes,
  context: Context<ClusterClaim>,
  rejection: WriteRejection,
): Promise<void> => {
  const { object, clock, events } = context
  const decision = withFinalizerRejection(decide(observe(object, indexes).observed, clock.now()), rejection)
  events.warning('FinalizerNotAdded', `claim ${object.metadata.name}: ${decision.kstatus?.message}`)
  await writeStatus(object, decision, context)
}
