/**
 * Records of a ClusterDeployment that the HyperFleet API does not have any more, as its status keeps them: what adapters may have left of one
 * keeps its customization, also when another record came in its place. Whether nothing is left is written down as soon as it is known, for
 * the API's archive forgets how a record went. CLUSTER-55, CLUSTER-56. Pure.
 */
import {
  type ClusterDeployment,
  type ClusterDeploymentStatus,
  MAX_GONE_CLUSTERS,
} from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { STOPPED } from './conditions.ts'
import { REGISTRATION } from './labels.ts'
import type { ClusterRecord } from './record/record.ts'

export type GoneCluster = NonNullable<ClusterDeploymentStatus['goneClusters']>[number]

/** Those that its status has and that did not come back. @param records of it that the API has */
export const knownGone = (
  { status }: Pick<ClusterDeployment, 'status'>,
  records: readonly Pick<ClusterRecord, 'id'>[],
): readonly GoneCluster[] => (status?.goneClusters ?? []).filter(({ id }) => !includes(records, id))

/** The record that its status names, when that is gone and the status does not say so yet. */
export const newlyGone = (
  { status }: Pick<ClusterDeployment, 'status'>,
  records: readonly Pick<ClusterRecord, 'id'>[],
): string | undefined => {
  const id = status?.hyperfleet?.id
  return id === undefined || includes(records, id) || includes(status?.goneClusters ?? [], id) ? undefined : id
}

/**
 * By which registration a ClusterDeployment from a backup, which has no status, had a record that is gone; undefined when it had none. One that
 * was never registered, or whose record is there, has none to look for. CLUSTER-57.
 */
export const unknownGone = (
  { metadata, status }: ClusterDeployment,
  records: readonly Pick<ClusterRecord, 'id'>[],
): string | undefined => {
  const registration = metadata.annotations?.[REGISTRATION] || undefined
  if (registration === metadata.uid || records.length > 0 || status?.hyperfleet !== undefined) return undefined
  return includes(status?.goneClusters ?? [], registration ?? '') ? undefined : registration
}

/** Does the status say of all records that are gone that they are, and of no other one? */
export const isGoneKnown = (
  deployment: Pick<ClusterDeployment, 'status'>,
  records: readonly Pick<ClusterRecord, 'id'>[],
): boolean =>
  newlyGone(deployment, records) === undefined &&
  knownGone(deployment, records).length === (deployment.status?.goneClusters ?? []).length

/** What the status keeps: all of which something may be left, and how the present one went. @param present id of the record that it names, if any */
export const keptGone = (gone: readonly GoneCluster[], present: string | undefined): GoneCluster[] | null => {
  const kept = gone.filter(({ id, nothingLeft }) => !nothingLeft || present === undefined || id === present)
  return kept.length === 0 ? null : kept.slice(-MAX_GONE_CLUSTERS)
}

/**
 * Is it registered again only when nothing is left of what it lost? With a customization the next cluster has the same names; and more than
 * the status keeps are never forgotten.
 */
export const waitsForLost = ({ spec }: ClusterDeployment, gone: readonly GoneCluster[]): boolean =>
  !spec.installed &&
  gone.length > 0 &&
  (spec.clusterPoolRef?.clusterDeploymentCustomization !== undefined || gone.length >= MAX_GONE_CLUSTERS)

/** Since when an installed cluster is known to have no record, in milliseconds since the epoch; undefined while it has one. */
export const recordGoneSince = ({ status }: ClusterDeployment): number | undefined => {
  const stopped = findCondition(status?.conditions, STOPPED)
  return stopped?.reason === 'RecordGone' ? Date.parse(stopped.lastTransitionTime) : undefined
}

const includes = (list: readonly { readonly id: string }[], id: string): boolean => list.some((one) => one.id === id)
