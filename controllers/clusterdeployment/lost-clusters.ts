/**
 * Clusters that the API lost before adapters had taken them down: removed by force, or not in the database that was restored. What adapters
 * applied for them they find by themselves and take away, and nothing tells when that is done, because they report on the record. So the
 * ClusterDeployment keeps its lease for a while (CLUSTER-14).
 */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { findCondition } from '#operator/model/conditions.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { STOPPED } from './conditions.ts'

/** Adapters find what belongs to no record at one of three looks. Milliseconds. */
const LOST_GRACE_MS = 90_000

/** Since when clusters are known to be lost whose ClusterDeployments were being deleted by then; a new process counts anew. */
export class LostClusters {
  readonly #since = new Map<string, number>()

  /**
   * Until when a ClusterDeployment stays whose record is gone; milliseconds since the epoch.
   * @throws HyperFleetError
   */
  async waitUntil(
    { metadata: { uid }, status }: ClusterDeployment,
    hyperfleet: Pick<HyperFleetClient, 'getArchived'>,
    now: Date,
    signal: AbortSignal,
  ): Promise<number> {
    const stopped = findCondition(status?.conditions, STOPPED)
    if (stopped?.reason === 'RecordGone') return Date.parse(stopped.lastTransitionTime) + LOST_GRACE_MS
    const id = status?.hyperfleet?.id
    if (id === undefined || (await wasCleanedUp(hyperfleet, id, signal))) return 0
    const since = this.#since.get(uid) ?? now.getTime()
    this.#since.set(uid, since)
    return since + LOST_GRACE_MS
  }

  forget({ metadata: { uid } }: ClusterDeployment): void {
    this.#since.delete(uid)
  }
}

/** The archive says how a record went; one that it does not have was lost with its database. */
const wasCleanedUp = async (
  hyperfleet: Pick<HyperFleetClient, 'getArchived'>,
  id: string,
  signal: AbortSignal,
): Promise<boolean> => {
  const archived = await hyperfleet.getArchived('clusters', id, signal)
  return archived !== undefined && (archived as { readonly forced?: unknown } | null)?.forced === undefined
}
