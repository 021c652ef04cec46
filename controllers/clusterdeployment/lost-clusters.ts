/**
 * Clusters that the API lost before adapters had taken them down: removed by force, or not in the database that was restored. Adapters find by
 * themselves what they applied for them, and can't report it on a record that is not there. So the ClusterDeployment keeps its lease until
 * nothing is left of what can be seen, and a person has said so of the rest (CLUSTER-14, CLUSTER-42).
 */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { adapterConditionType } from '#apis/hyperfleet.redhat.com/adapter-condition.ts'
import type { Api } from '#operator/client/api.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { type ArchivedResource, reportersWhenArchived } from '#services/hyperfleet-api/client/archived.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { STOPPED } from './conditions.ts'
import { NOTHING_LEFT } from './labels.ts'
import { type AdapterEvidence, describeLeftBehind, readAdapterEvidence } from './left-behind.ts'
import { ADAPTER_SUFFIX } from './record/record.ts'

/** Adapters find what belongs to no record at one of three looks. Milliseconds. */
const LOST_GRACE_MS = 90_000
/** One reading serves all that are looked at meanwhile. Milliseconds. */
const EVIDENCE_MAX_AGE_MS = 15_000

export interface LossSources {
  readonly hyperfleet: Pick<HyperFleetClient, 'getArchived'>
  readonly api: Pick<Api, 'list'>
  readonly now: Date
  readonly signal: AbortSignal
}

/** Until when a ClusterDeployment stays whose record is gone, in milliseconds since the epoch; and why even longer. */
export interface Loss {
  readonly until: number
  readonly leftBehind?: string | undefined
}

/** Since when clusters are known to be lost whose ClusterDeployments were being deleted by then; a new process counts anew. */
export class LostClusters {
  readonly #since = new Map<string, number>()
  #evidence: { readonly at: number; readonly found: Promise<AdapterEvidence> } | undefined

  /** @throws HyperFleetError, ApiError, NetworkError */
  async judge(deployment: ClusterDeployment, sources: LossSources): Promise<Loss> {
    const { metadata, status } = deployment
    const stopped = findCondition(status?.conditions, STOPPED)
    const isRecordGone = stopped?.reason === 'RecordGone'
    const id = status?.hyperfleet?.id
    if (id === undefined && !isRecordGone) return { until: 0 }
    const archived = id === undefined ? undefined : await readArchived(sources, id)
    const goneAt = isRecordGone ? Date.parse(stopped.lastTransitionTime) : undefined
    if (archived !== undefined && archived.forced === undefined)
      return { until: goneAt === undefined ? 0 : goneAt + LOST_GRACE_MS }
    if (id !== undefined && metadata.annotations?.[NOTHING_LEFT] === id) return { until: 0 }
    const since = goneAt ?? this.#since.get(metadata.uid) ?? sources.now.getTime()
    if (goneAt === undefined) this.#since.set(metadata.uid, since)
    const until = since + LOST_GRACE_MS
    if (until > sources.now.getTime() || id === undefined) return { until }
    const evidence = await this.#readEvidence(sources)
    return { until, leftBehind: describeLeftBehind(id, reportersOf(deployment, archived), evidence) }
  }

  forget({ metadata: { uid } }: ClusterDeployment): void {
    this.#since.delete(uid)
  }

  async #readEvidence({ api, now }: LossSources): Promise<AdapterEvidence> {
    const age = this.#evidence && now.getTime() - this.#evidence.at
    if (age === undefined || age < 0 || age >= EVIDENCE_MAX_AGE_MS)
      this.#evidence = { at: now.getTime(), found: readAdapterEvidence(api) }
    try {
      return await (this.#evidence as { readonly found: Promise<AdapterEvidence> }).found
    } catch (error) {
      this.#evidence = undefined
      throw error
    }
  }
}

/** The archive says how a record went; one that it does not have was lost with its database. @throws HyperFleetError */
const readArchived = async ({ hyperfleet, signal }: LossSources, id: string): Promise<ArchivedResource | undefined> =>
  ((await hyperfleet.getArchived('clusters', id, signal)) as ArchivedResource | null) ?? undefined

/** Conditions of adapters that said something of the cluster, but of those that the API waited for no longer when it was removed by force. */
const reportersOf = ({ status }: ClusterDeployment, archived: ArchivedResource | undefined): readonly string[] => {
  const { awaited, done } = archived === undefined ? { awaited: [], done: [] } : reportersWhenArchived(archived)
  const mirrored = (status?.conditions ?? []).flatMap(({ type }) => (type.endsWith(ADAPTER_SUFFIX) ? [type] : []))
  const all = new Set([...awaited.map(adapterConditionType), ...mirrored])
  return [...all.difference(new Set(done.map(adapterConditionType)))].toSorted()
}
