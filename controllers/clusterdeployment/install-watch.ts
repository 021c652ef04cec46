/**
 * How long an installation has been watched: what the deadline of a pool goes by. A pool can't tell an installation that takes too long from one
 * of which nothing is told, because this controller does not run or the HyperFleet API does not answer. POOL-48.
 */
import {
  API_REACHABLE,
  type ClusterDeployment,
  type ClusterDeploymentStatus,
  QUOTA_EXCEEDED,
} from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { findCondition } from '#operator/model/conditions.ts'

export type InstallWatch = NonNullable<ClusterDeploymentStatus['installWatch']>

/** How often it is written while a cluster is being installed, in milliseconds. */
export const WATCH_INTERVAL_MS = 5 * 60_000
/** Between two writes no more than this counts, in milliseconds: the controller was away, or a clock was set. */
const MAX_COUNTED_MS = 2 * WATCH_INTERVAL_MS

/** As the status should have it now; undefined when the cluster is installed. */
export const nextInstallWatch = (
  { spec, status }: Pick<ClusterDeployment, 'spec' | 'status'>,
  now: Date,
  isWaitingForQuota = false,
): InstallWatch | undefined => {
  if (spec.installed) return undefined
  const before = status?.installWatch
  const until = formatSeconds(now)
  if (before === undefined) return { seconds: 0, until }
  // Adapters could not report either: what they installed meanwhile is told from now on. POOL-75.
  if (findCondition(status?.conditions, API_REACHABLE)?.status === 'False') return { seconds: before.seconds, until }
  const since = now.getTime() - Date.parse(before.until)
  // While it waited it was not being installed: CLUSTER-23.
  if (findCondition(status?.conditions, 'Ready')?.reason === QUOTA_EXCEEDED)
    return isWaitingForQuota && since >= 0 && since < WATCH_INTERVAL_MS ? before : { seconds: before.seconds, until }
  if (since >= 0 && since < WATCH_INTERVAL_MS) return before
  const counted = Math.min(Math.max(since, 0), MAX_COUNTED_MS)
  return { seconds: before.seconds + Math.floor(counted / 1_000), until }
}

/** To the second, as Kubernetes writes times. */
export const formatSeconds = (moment: Date): string => moment.toISOString().replace(/\.\d{3}Z$/, 'Z')
