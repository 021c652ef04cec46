import type { Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { ForcedRemoval } from '../storage/archive.ts'
import type { Database } from '../storage/database.ts'
import type { Writer } from '../storage/dialect.ts'
import { type Address, lockChildren, lockResource } from '../storage/resources.ts'
import type { Caller, MutationContext } from './context.ts'
import { lockAncestors, recheckParent, removeRecord } from './deletion-tree.ts'

/**
 * Removes a record in deletion and everything below it, although adapters have not cleaned up: the way out when one of
 * them never will. The archive keeps which caller did it, and why (API-30).
 * @throws Problem notFound, conflict when it is not being deleted
 */
export const forceDeleteResource = async (
  mutations: MutationContext,
  address: Address,
  reason: string,
  { identity, time }: Caller,
): Promise<void> => {
  const { database, notifyCommitted } = mutations
  await database.transaction(async (writer) => {
    await lockAncestors(writer, mutations, address)
    const resource = await lockResource(writer, database, address)
    if (resource.deleted_time === undefined)
      throw new Problem(
        'conflict',
        `${resource.kind} '${resource.id}' is not being deleted: DELETE it first, and force only what does not go`,
      )
    await removeSubtree(writer, database, resource, time, { by: identity, reason })
    await recheckParent(writer, mutations, resource, time)
  })
  notifyCommitted()
}

/** Children before their parents, as a deletion without force does it. */
const removeSubtree = async (
  writer: Writer,
  database: Database,
  resource: Resource,
  time: Timestamp,
  force: ForcedRemoval,
): Promise<void> => {
  for (const child of await lockChildren(writer, database, resource.id))
    await removeSubtree(writer, database, child, time, force)
  await removeRecord(writer, database, resource, time, force)
}
