/** What adapters may have left of a cluster that the HyperFleet API lost, as far as it is seen in this Kubernetes cluster: CLUSTER-42. */

import { adapterConditionType } from '#apis/hyperfleet.redhat.com/adapter-condition.ts'
import { AdapterInventory, type AdapterInventorySpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { Api } from '#operator/client/api.ts'
import { isForbidden, isNotFound } from '#operator/client/errors.ts'
import type { KubeObject, Resource } from '#operator/model/resource.ts'
import type { GoneCluster } from './gone-clusters.ts'
import { NOTHING_LEFT } from './labels.ts'
import { ADAPTER_SUFFIX } from './record/record.ts'

/** Something was applied, and is not known to be gone. */
export interface LeftInventory {
  /** `namespace/name` of its AdapterTask. */
  readonly task: string
  /** The resource that it is for, and what that belongs to. */
  readonly resources: readonly string[]
  /** Id of the cluster among them; undefined when it is for another kind of resource. */
  readonly cluster: string | undefined
  readonly objects: number
}

export interface AdapterEvidence {
  readonly inventories: readonly LeftInventory[]
  /** The condition types of the adapters whose tasks are here: what is left of them is in inventories. */
  readonly seen: ReadonlySet<string>
}

/** Where neither kind is installed, or may be read, nothing is seen. @throws ApiError, NetworkError */
export const readAdapterEvidence = async (api: Pick<Api, 'list'>): Promise<AdapterEvidence> => {
  // Tasks first: one that comes later has no inventory among these.
  const tasks = await listIfSeen(api, AdapterTask, ({ spec }) => adapterConditionType(spec.adapter.name))
  const inventories = await listIfSeen(api, AdapterInventory, ({ metadata, spec }) => ({
    task: `${metadata.namespace}/${spec.task}`,
    ...resourcesOf(spec),
    objects: spec.objects.length,
  }))
  if (tasks === undefined || inventories === undefined) return { inventories: inventories ?? [], seen: new Set() }
  return { inventories: inventories.filter(({ objects }) => objects > 0), seen: new Set(tasks) }
}

const listIfSeen = async <O extends KubeObject, T>(
  api: Pick<Api, 'list'>,
  resource: Resource<O>,
  of: (object: O) => T,
): Promise<readonly T[] | undefined> => {
  const found: T[] = []
  try {
    for await (const object of api.list(resource)) found.push(of(object))
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined
    throw error
  }
  return found
}

const CLUSTER = 'Cluster'

const resourcesOf = ({ resourceId, event }: AdapterInventorySpec): Pick<LeftInventory, 'resources' | 'cluster'> => {
  const { kind, owner_references: owner } = event as {
    readonly kind?: unknown
    readonly owner_references?: { readonly id?: unknown; readonly kind?: unknown }
  }
  const ownerId = typeof owner?.id === 'string' ? owner.id : undefined
  return {
    resources: [resourceId, ...(ownerId === undefined ? [] : [ownerId])],
    cluster: kind === CLUSTER ? resourceId : owner?.kind === CLUSTER ? ownerId : undefined,
  }
}

/**
 * The first of the inventories that is for a cluster which the API does not have: it may be that of a ClusterDeployment from a backup, which
 * does not know the id of its record. CLUSTER-57.
 * @param isThere asks the API for a cluster
 */
export const findOrphan = async (
  { inventories }: AdapterEvidence,
  isThere: (id: string) => Promise<boolean>,
): Promise<LeftInventory | undefined> => {
  const there = new Set<string>()
  for (const inventory of inventories) {
    const { cluster } = inventory
    if (cluster === undefined || there.has(cluster)) continue
    if (!(await isThere(cluster))) return inventory
    there.add(cluster)
  }
  return undefined
}

/**
 * Of which records something may be left, and why what they had can't be given to another cluster yet, in words.
 * @param lost records of one ClusterDeployment @param orphan what may be of the one whose id is not known
 * @returns no message when nothing speaks against it
 */
export const describeLeftBehind = (
  lost: readonly GoneCluster[],
  evidence: AdapterEvidence,
  orphan?: LeftInventory,
): { readonly left: readonly GoneCluster[]; readonly message?: string } => {
  const found = lost.flatMap((cluster) => {
    const reasons = cluster.isUnknown === true ? orphanReasons(orphan) : reasonsOf(cluster, evidence)
    return reasons.length === 0 ? [] : [{ cluster, reasons }]
  })
  if (found.length === 0) return { left: [] }
  const clusters = found.map(
    ({ cluster: { id, isUnknown }, reasons }) =>
      `the HyperFleet API has lost ${isUnknown ? 'the cluster of registration' : 'cluster'} ${id}, and something of it may be left: ${reasons.join('; ')}`,
  )
  const ids = found.map(({ cluster: { id } }) => id).join(',')
  return {
    left: found.map(({ cluster }) => cluster),
    message: `${clusters.join('. ')}. What it has is leased to no other cluster until inventories have nothing of it. When you have seen that nothing is left, say so with the annotation ${NOTHING_LEFT}=${ids}`,
  }
}

const orphanReasons = (orphan: LeftInventory | undefined): readonly string[] =>
  orphan === undefined
    ? []
    : [
        `AdapterTask ${orphan.task} has ${orphan.objects} objects of cluster ${orphan.cluster} in its inventory, which the API does not have and which may be this one`,
      ]

const reasonsOf = ({ id, reportedBy = [] }: GoneCluster, { inventories, seen }: AdapterEvidence): readonly string[] => {
  const own = inventories.filter(({ resources }) => resources.includes(id))
  const unseen = reportedBy.filter((type) => !seen.has(type)).map((type) => type.slice(0, -ADAPTER_SUFFIX.length))
  return [
    ...own.map(({ task, objects }) => `AdapterTask ${task} has ${objects} objects of it in its inventory`),
    ...(unseen.length === 0
      ? []
      : [`what the adapters ${unseen.join(', ')} applied is not seen in this Kubernetes cluster`]),
  ]
}
