/** The brake of a pool: which deletions wait for a person, and what the process that comes next must know of it. POOL-53, POOL-68. */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { type ClusterPool, type ClusterPoolSpec, DELETION_BRAKE } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { RELEASE_DELETIONS_ANNOTATION } from '#apis/hive.openshift.io/v1/labels.ts'
import { type BrakeTimes, formatBrakeRecord, parseBrakeRecord } from '#operator/model/brake-record.ts'
import { isTrue } from '#operator/model/conditions.ts'
import { type BrakeLimits, brakeLimit, DeletionBrake } from '#operator/model/deletion-brake.ts'
import type { HeldDeletions, InferredClusterDeletion, Observed } from '../model/observed.ts'
import type { Plan } from '../model/plan.ts'
import type { PoolIndexes } from '../observe/indexes.ts'

export type ClusterBrake = DeletionBrake<InferredClusterDeletion>

/**
 * Counts on from what the pool's status says: a process that starts anew lets through no more, and releases nothing.
 * @param now milliseconds of the brake's clock, here and below: one that only goes forward
 */
export const createBrake = ({ status }: ClusterPool, now: number): ClusterBrake => {
  const brake: ClusterBrake = new DeletionBrake()
  brake.recall(parseBrakeRecord(status?.recentDeletions, now), areDeletionsHeld(status))
  return brake
}

/** What is too much to be deleted at once without a person, and whether the record is needed. @param asked the clusters of all pools */
export const applyBrake = (
  { pool, clusters }: Observed,
  deletions: readonly InferredClusterDeletion[],
  brake: ClusterBrake,
  now: number,
  asked: PoolIndexes['askedClusters'],
): Pick<Observed, 'heldDeletions' | 'isBrakeCounting'> => {
  const doubt = doubtSilence(deletions, asked)
  const { free, verdict } = brake.decide({
    deletions,
    total: clusters.length,
    released: pool.metadata.annotations?.[RELEASE_DELETIONS_ANNOTATION],
    now,
    limits: doubt === undefined ? brakeLimits(pool.spec) : { percent: 0, least: 0 },
  })
  const heldDeletions: HeldDeletions | undefined = verdict.verdict === 'Held' ? { ...verdict, doubt } : undefined
  return { heldDeletions, isBrakeCounting: brake.recent(free, now).length > 0 }
}

/** What fell silent within so many milliseconds did so at once: a look each minute, three in vain, and what is waited in between. */
const AT_ONCE_MS = 10 * 60_000

/** Clusters of many pools that fall silent at once are most likely there, behind a network that is not: no pool can tell alone. POOL-68. */
const doubtSilence = (
  deletions: readonly InferredClusterDeletion[],
  asked: PoolIndexes['askedClusters'],
): string | undefined => {
  const since = deletions.flatMap(({ silentSince }) => silentSince ?? [])
  if (since.length === 0) return undefined
  const silent = asked.get('silent')
  const total = silent.length + asked.get('answers').length
  const together = Math.max(...since.map((at) => silent.filter((other) => Math.abs(other - at) <= AT_ONCE_MS).length))
  if (together <= brakeLimit(total, DELETION_BRAKE)) return undefined
  return `${together} unclaimed clusters of all pools fell silent at once, of ${total}, which is more likely the network`
}

const brakeLimits = ({ deletionBrake }: Pick<ClusterPoolSpec, 'deletionBrake'>): BrakeLimits => ({
  ...DELETION_BRAKE,
  ...deletionBrake,
})

/** Those of the plan's deletions that no person asked for. */
export const plannedDeletions = (
  { actions }: Plan,
  inferred: readonly InferredClusterDeletion[],
): readonly InferredClusterDeletion[] => {
  const going = new Set(actions.flatMap((one) => (one.action === 'DeleteCluster' ? [one.cluster.uid] : [])))
  return inferred.filter(({ key }) => going.has(key))
}

/** The count with what is about to be deleted, as `status.recentDeletions` has it; undefined when none of it counts. */
export const recordDeletions = (
  brake: ClusterBrake,
  planned: readonly InferredClusterDeletion[],
  times: BrakeTimes,
): string | undefined => formatBrakeRecord(brake.recent(planned, times.now), times) || undefined

const areDeletionsHeld = (status: ClusterPool['status']): boolean => isTrue(status?.conditions, 'DeletionsHeld')

/**
 * Since when claims are gone, as far as it is known to a process that has just begun (CLAIM-7): where deletions are held they were gone long
 * enough before. Otherwise nothing would be there to hold, and what was held would be free.
 * @param clusters of the pool
 */
export const knownAbsentClaims = (
  { status }: ClusterPool,
  clusters: readonly ClusterDeployment[],
): Map<string, number> => {
  const claims = clusters.flatMap(({ spec }) => spec.clusterPoolRef?.claimName ?? [])
  return new Map(areDeletionsHeld(status) ? claims.map((claim) => [claim, 0]) : [])
}
