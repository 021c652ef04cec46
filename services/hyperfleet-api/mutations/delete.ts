import type { Entity } from '../model/entity.ts'
import type { Resource } from '../model/resource.ts'
import { Problem } from '../problems/problem.ts'
import type { Writer } from '../storage/dialect.ts'
import { findReferrer } from '../storage/references.ts'
import { type Address, lockChildren, lockResource } from '../storage/resources.ts'
import { readStatuses } from '../storage/statuses.ts'
import { readUnfinishedRuns } from '../storage/unfinished-runs.ts'
import { writeResource } from '../storage/write-resource.ts'
import type { Caller, MutationContext, Precondition } from './context.ts'
import { type DeletionWaits, isRemovable, lockAncestors, recomputeStatus, removeRecord } from './deletion-tree.ts'
import { recheckDeletions } from './recheck-deletions.ts'

/**
 * Asks for a deletion: marks the resource and everything below it, and removes at once what no adapter has to clean up.
 * Asking again changes nothing (API-23).
 * @returns the resource as it was marked
 * @throws Problem
 */
export const deleteResource = async (
  mutations: MutationContext,
  address: Address,
  caller: Caller,
  precondition?: Precondition<Resource>,
): Promise<Resource> => {
  const { database, notifyCommitted } = mutations
  const waiting: string[] = []
  const resource = await database.transaction(async (writer) => {
    await lockAncestors(writer, mutations, address)
    const before = await lockResource(writer, database, address)
    precondition?.(before)
    waiting.length = 0
    if (before.deleted_time !== undefined) {
      waiting.push(before.id)
      return before
    }
    const tree = { before, family: before, waiting }
    return (await markTreeDeleted(writer, mutations, address.entity, tree, caller)).resource
  })
  notifyCommitted()
  // A group may have finished while this was decided.
  await recheckDeletions(mutations, { resources: waiting })
  return resource
}

/** A resource of a tree that is being marked. */
interface MarkedTree {
  readonly before: Resource
  /** The root. */
  readonly family: Resource
  /** Gets the ids of what waits for consumer groups. */
  readonly waiting: string[]
}

/** Marks children first, so that a record whose children all went at once can go too. */
const markTreeDeleted = async (
  writer: Writer,
  mutations: MutationContext,
  entity: Entity,
  { before, family, waiting }: MarkedTree,
  caller: Caller,
): Promise<{ resource: Resource; isGone: boolean }> => {
  const { database } = mutations
  const children = entity.children.length === 0 ? [] : await lockChildren(writer, database, before.id)
  rejectRestricted(entity, before, children)
  await rejectReferenced(writer, before, family)
  let left = 0
  for (const child of children) {
    const kind = entity.children.find(({ kind }) => kind === child.kind)
    const isGone =
      kind !== undefined &&
      child.deleted_time === undefined &&
      (await markTreeDeleted(writer, mutations, kind, { before: child, family, waiting }, caller)).isGone
    if (!isGone) left += 1
  }
  const waits = {
    rows: await readStatuses(writer, before.id),
    hasChildren: left > 0,
    runs: await readUnfinishedRuns(writer, database, { id: before.id, generation: before.generation + 1 }),
  }
  if (waits.runs.length > 0) waiting.push(before.id)
  const resource = markDeleted(entity, before, waits, caller)
  await writeResource(writer, database.dialect, { type: 'modified', before, resource }, caller.time)
  const isGone = isRemovable(entity, resource, waits)
  if (isGone) await removeRecord(writer, database, resource, caller.time)
  return { resource, isGone }
}

const markDeleted = (entity: Entity, before: Resource, waits: DeletionWaits, { identity, time }: Caller): Resource => {
  // What is being deleted needs nothing any more: what it named may go too.
  const { references: _, ...rest } = before
  const resource = {
    ...rest,
    generation: before.generation + 1,
    updated_time: time,
    updated_by: identity,
    deleted_time: time,
    deleted_at: time,
    deleted_by: identity,
  }
  return recomputeStatus(entity, resource, waits)
}

/** Nothing living may be left with a reference to what is gone. @throws Problem conflict */
const rejectReferenced = async (writer: Writer, resource: Resource, family: Resource): Promise<void> => {
  const referrer = await findReferrer(writer, resource, family)
  if (referrer !== undefined)
    throw new Problem(
      'conflict',
      `Cannot delete ${resource.kind} '${resource.id}': ${referrer.kind} '${referrer.name}' (${referrer.id}) references it, remove the reference first`,
    )
}

/** A living child of a kind that forbids the deletion of its parent. */
export const isRestricting = (entity: Entity, child: Resource): boolean =>
  child.deleted_time === undefined &&
  entity.children.some(({ kind, onParentDelete }) => kind === child.kind && onParentDelete === 'restrict')

const rejectRestricted = (entity: Entity, { id }: Resource, children: readonly Resource[]): void => {
  const restricting = children.filter((child) => isRestricting(entity, child))
  const blocking = entity.children.find(({ kind }) => restricting.some((child) => child.kind === kind))
  if (blocking !== undefined)
    throw new Problem(
      'conflict',
      `Cannot delete ${entity.kind} '${id}': active ${blocking.kind}(s) exist, delete them first`,
    )
}
