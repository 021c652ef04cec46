import { isDeepStrictEqual } from 'node:util'
import type { Entity } from '../model/entity.ts'
import type { AdapterStatus, Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { Writer } from '../storage/dialect.ts'
import { type Address, hasChildren, lockResource, touchResource } from '../storage/resources.ts'
import { readUnfinishedRuns } from '../storage/unfinished-runs.ts'
import { writeResource } from '../storage/write-resource.ts'
import type { MutationContext } from './context.ts'
import { isRemovable, lockAncestors, noWaits, recomputeStatus, removeWithParents } from './deletion-tree.ts'

/**
 * Locks a resource whose reports are about to change, and first its ancestors when it is in deletion: its going may
 * let them go. @throws Problem notFound
 */
export const lockForReports = async (
  writer: Writer,
  mutations: MutationContext,
  address: Address,
): Promise<Resource> => {
  if (await isInDeletion(writer, address)) await lockAncestors(writer, mutations, address)
  return lockResource(writer, mutations.database, address)
}

const isInDeletion = async (writer: Writer, { entity, id }: Address): Promise<boolean> => {
  if (entity.parent === undefined) return false
  const row = await writer.selectFrom('resources').select('deleted_time').where('id', '=', id).executeTakeFirst()
  return row !== undefined && row.deleted_time !== null
}

/** A locked resource whose rows have changed. */
export interface ReportTransition {
  readonly entity: Entity
  /** As it is stored. */
  readonly before: Resource
  /** As they are stored. */
  readonly rows: readonly AdapterStatus[]
  /** Of the newest accepted report. */
  readonly lastTransitionTime: Timestamp | undefined
  readonly time: Timestamp
}

/**
 * Brings a resource in line with its rows; a record whose gate is open goes, and with it every ancestor that waited for
 * it alone.
 */
export const applyTransition = async (
  writer: Writer,
  mutations: MutationContext,
  { entity, before, rows, lastTransitionTime, time }: ReportTransition,
): Promise<void> => {
  const { database } = mutations
  const waits =
    before.deleted_time === undefined
      ? noWaits(rows)
      : {
          rows,
          hasChildren: await hasChildren(writer, before.id),
          runs: await readUnfinishedRuns(writer, database, before),
        }
  const resource = recomputeStatus(entity, before, waits, lastTransitionTime)
  if (isRemovable(entity, resource, waits)) await removeWithParents(writer, mutations, resource, time)
  else if (isDeepStrictEqual(before, resource)) await touchResource(writer, resource.id)
  else await writeResource(writer, database.dialect, { type: 'modified', before, resource }, time)
}
