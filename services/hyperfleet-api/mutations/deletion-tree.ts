import { computeStatus } from '../model/compute-status.ts'
import { awaitedAdapters } from '../model/deletion-gate.ts'
import type { Entity } from '../model/entity.ts'
import { showStatus } from '../model/interim-report.ts'
import type { AdapterStatus, Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { type ForcedRemoval, putArchived } from '../storage/archive.ts'
import type { Database } from '../storage/database.ts'
import type { Writer } from '../storage/dialect.ts'
import { hasChildren, lockResource } from '../storage/resources.ts'
import { readStatuses } from '../storage/statuses.ts'
import { readUnfinishedRuns } from '../storage/unfinished-runs.ts'
import { writeResource } from '../storage/write-resource.ts'
import type { MutationContext } from './context.ts'

/**
 * Deletion in a family of records: a record goes when its adapters have cleaned up and no child is left, and its going
 * may let its parent go, up the tree, all in one transaction (API-27).
 */

/** Where a family of records is, and which kinds it has. */
type TreeContext = Pick<MutationContext, 'database' | 'entities'>

/** What a resource's status follows from besides itself; all but rows count in a deletion only. */
export interface DeletionWaits {
  readonly rows: readonly AdapterStatus[]
  /** Whether child records are left, those in deletion included. */
  readonly hasChildren: boolean
  /** Consumer groups that have not finished with an event from before the deletion. */
  readonly runs: readonly string[]
}

/** Of a resource that is not in deletion. */
export const noWaits = (rows: readonly AdapterStatus[]): DeletionWaits => ({
  rows,
  hasChildren: false,
  runs: [],
})

/** Conditions of a resource as it stands, from its rows. */
export const recomputeStatus = (
  entity: Entity,
  resource: Resource,
  waits: DeletionWaits,
  lastTransitionTime: Timestamp | undefined = resource.status.lastTransitionTime,
): Resource => {
  const previous = resource.status.conditions
  return { ...resource, status: computeStatus(entity, resource, { ...waits, previous, lastTransitionTime }) }
}

/** May the record go? */
export const isRemovable = (entity: Entity, resource: Resource, { rows, hasChildren, runs }: DeletionWaits): boolean =>
  resource.deleted_time !== undefined &&
  !hasChildren &&
  runs.length === 0 &&
  awaitedAdapters(resource, rows, entity.requiredAdapters).length === 0

/**
 * Removes a record: what is known of it goes to the archive, watchers hear of it, and its rows are gone.
 * @param force when it goes although its adapters have not cleaned up
 */
export const removeRecord = async (
  writer: Writer,
  { dialect }: Database,
  resource: Resource,
  time: Timestamp,
  force?: ForcedRemoval,
): Promise<void> => {
  const statuses = (await readStatuses(writer, resource.id)).map(showStatus)
  await putArchived(writer, { archived_time: time, ...(force && { forced: force }), resource, statuses })
  await writeResource(writer, dialect, { type: 'deleted', resource }, time)
}

/** Removes a record that may go, then looks at its parent again. */
export const removeWithParents = async (
  writer: Writer,
  family: TreeContext,
  resource: Resource,
  time: Timestamp,
): Promise<void> => {
  await removeRecord(writer, family.database, resource, time)
  await recheckParent(writer, family, resource, time)
}

/** Looks again at a record that is in deletion and has just lost a child: it may go now, and then its own parent. */
export const recheckParent = async (
  writer: Writer,
  family: TreeContext,
  { owner_references: owner }: Resource,
  time: Timestamp,
): Promise<void> => {
  const { database, entities } = family
  const entity = owner === undefined ? undefined : entities.byKind(owner.kind)
  if (owner === undefined || entity === undefined) return
  const parent = await lockResource(writer, database, { entity, id: owner.id })
  if (parent.deleted_time === undefined || (await hasChildren(writer, parent.id))) return
  const waits = {
    rows: await readStatuses(writer, parent.id),
    // The last child is gone: the condition does not name children.
    hasChildren: false,
    runs: await readUnfinishedRuns(writer, database, parent),
  }
  const after = recomputeStatus(entity, parent, waits)
  if (isRemovable(entity, after, waits)) await removeWithParents(writer, family, after, time)
  else await writeResource(writer, database.dialect, { type: 'modified', before: parent, resource: after }, time)
}

/** Locks the ancestors of a record from the root down, the order in which a deletion locks, so that neither waits in a circle (API-32). */
export const lockAncestors = async (
  writer: Writer,
  { database, entities }: TreeContext,
  { entity, id }: { readonly entity: Entity; readonly id: string },
): Promise<void> => {
  if (database.dialect === 'sqlite') return
  const path: { entity: Entity; id: string }[] = []
  for (let [kind, at]: [Entity | undefined, string] = [entity, id]; kind?.parent !== undefined; ) {
    const row = await writer
      .selectFrom('resources')
      .select(['owner_id', 'owner_kind'])
      .where('id', '=', at)
      .executeTakeFirst()
    if (row?.owner_id == null || row.owner_kind === null) break
    const parent = entities.byKind(row.owner_kind)
    if (parent === undefined) break
    path.unshift({ entity: parent, id: row.owner_id })
    ;[kind, at] = [parent, row.owner_id]
  }
  for (const address of path) await lockResource(writer, database, address)
}
