/**
 * Clusters that the API lost before adapters had taken them down: removed by force, or not in the database that was restored. Adapters find by
 * themselves what they applied for them, and can't report it on a record that is not there. So the ClusterDeployment keeps its lease until
 * nothing is left of what can be seen, and a person has said so of the rest (CLUSTER-14, CLUSTER-42).
 */
import { type ClusterDeployment, MAX_REPORTERS } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { adapterConditionType } from '#apis/hyperfleet.redhat.com/adapter-condition.ts'
import type { Api } from '#operator/client/api.ts'
import { type ArchivedResource, reportersWhenArchived } from '#services/hyperfleet-api/client/archived.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { type GoneCluster, knownGone, newlyGone, recordGoneSince, unknownGone } from './gone-clusters.ts'
import { NOTHING_LEFT } from './labels.ts'
import { type AdapterEvidence, describeLeftBehind, findOrphan, readAdapterEvidence } from './left-behind.ts'
import { ADAPTER_SUFFIX, type ClusterRecord } from './record/record.ts'

/** Adapters find what belongs to no record at one of three looks. Milliseconds. */
const LOST_GRACE_MS = 90_000
/** As often as adapters look for what belongs to no record; no inventory is watched. */
export const LEFT_BEHIND_RECHECK_INTERVAL = '30s'
/** One reading serves all that are looked at meanwhile. Milliseconds. */
const EVIDENCE_MAX_AGE_MS = 15_000

export interface LossSources {
  readonly hyperfleet: Pick<HyperFleetClient, 'get' | 'getArchived'>
  readonly api: Pick<Api, 'list'>
  readonly now: Date
  readonly signal: AbortSignal
}

/** Until when a ClusterDeployment keeps its lease for records that are gone, in milliseconds since the epoch; and why even longer. */
export interface Loss {
  readonly until: number
  readonly leftBehind?: string | undefined
  /** As they went in; `nothingLeft` where that is known by now. */
  readonly gone: readonly GoneCluster[]
}

/** Judges what adapters may have left of records that are gone. */
export class LostClusters {
  #evidence: { readonly at: number; readonly found: Promise<AdapterEvidence> } | undefined

  /**
   * Those that its status has, and the one that it still names as its cluster. Of that one the archive is asked, once.
   * @param records of it that the API has
   * @throws HyperFleetError
   */
  async findGone(
    deployment: ClusterDeployment,
    records: readonly ClusterRecord[],
    sources: Omit<LossSources, 'api'>,
  ): Promise<readonly GoneCluster[]> {
    const { now, hyperfleet, signal } = sources
    // The clock that wrote it may have been ahead.
    const bounded = ({ time, ...one }: GoneCluster) => ({
      ...one,
      time: Date.parse(time) > now.getTime() ? now.toISOString() : time,
    })
    const known = knownGone(deployment, records).map(bounded)
    const since = Math.min(recordGoneSince(deployment) ?? now.getTime(), now.getTime())
    const time = new Date(since).toISOString()
    const registration = unknownGone(deployment, records)
    if (registration !== undefined) return [...known, { id: registration, isUnknown: true, time, nothingLeft: false }]
    const id = newlyGone(deployment, records)
    // One that is there is no cluster of this ClusterDeployment any more.
    if (id === undefined || (await hyperfleet.get('clusters', id, signal)) != null) return known
    const archived = await readArchived(sources, id)
    const isDone = archived !== undefined && archived.forced === undefined
    const reportedBy = isDone ? [] : reportersOf(deployment, archived).slice(0, MAX_REPORTERS)
    return [...known, { id, time, nothingLeft: isDone, reportedBy }]
  }

  /** @param gone as `findGone` found them @throws HyperFleetError, ApiError, NetworkError */
  async judge(deployment: ClusterDeployment, gone: readonly GoneCluster[], sources: LossSources): Promise<Loss> {
    const seen = deployment.metadata.annotations?.[NOTHING_LEFT]?.split(',').map((id) => id.trim()) ?? []
    const lost = gone.filter(({ id, nothingLeft }) => !nothingLeft && !seen.includes(id))
    const isSeen = seen.includes(deployment.status?.hyperfleet?.id ?? '')
    const recordGone = isSeen ? undefined : recordGoneSince(deployment)
    const times = [...lost.map(({ time }) => Date.parse(time)), ...(recordGone === undefined ? [] : [recordGone])]
    const until = times.length === 0 ? 0 : Math.max(...times) + LOST_GRACE_MS
    const judged = (left: readonly GoneCluster[]) => gone.map((one) => ({ ...one, nothingLeft: !left.includes(one) }))
    if (lost.length === 0 || until > sources.now.getTime()) return { until, gone: judged(lost) }
    const evidence = await this.#readEvidence(sources)
    const isThere = async (id: string) => (await sources.hyperfleet.get('clusters', id, sources.signal)) != null
    const orphan = lost.some(({ isUnknown }) => isUnknown) ? await findOrphan(evidence, isThere) : undefined
    const { left, message } = describeLeftBehind(lost, evidence, orphan)
    return { until, leftBehind: message, gone: judged(left) }
  }

  async #readEvidence({ api, now }: Pick<LossSources, 'api' | 'now'>): Promise<AdapterEvidence> {
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
const readArchived = async (
  { hyperfleet, signal }: Pick<LossSources, 'hyperfleet' | 'signal'>,
  id: string,
): Promise<ArchivedResource | undefined> =>
  ((await hyperfleet.getArchived('clusters', id, signal)) as ArchivedResource | null) ?? undefined

/** Conditions of adapters that said something of the cluster, but of those that the API waited for no longer when it was removed by force. */
const reportersOf = ({ status }: ClusterDeployment, archived: ArchivedResource | undefined): readonly string[] => {
  const { awaited, done } = archived === undefined ? { awaited: [], done: [] } : reportersWhenArchived(archived)
  const mirrored = (status?.conditions ?? []).flatMap(({ type }) => (type.endsWith(ADAPTER_SUFFIX) ? [type] : []))
  const all = new Set([...awaited.map(adapterConditionType), ...mirrored])
  return [...all.difference(new Set(done.map(adapterConditionType)))].toSorted()
}
