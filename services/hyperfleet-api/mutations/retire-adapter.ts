import { namedAdapters } from '../model/entity-config.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { Address } from '../storage/resources.ts'
import { readStatuses, removeStatus } from '../storage/statuses.ts'
import { applyTransition, lockForReports } from './apply-transition.ts'
import type { MutationContext } from './context.ts'

/**
 * Forgets what an adapter said about a resource: it is retired, and a deletion shall not wait for it. The resource
 * follows at once, in the same transaction; when it waited for this adapter alone it goes, and so may its ancestors.
 * A required adapter can't be retired here (API-31): it comes back with its next report, or its absence stops the resource.
 * @throws Problem
 */
export const retireAdapter = async (
  mutations: MutationContext,
  { address, adapter, time }: { readonly address: Address; readonly adapter: string; readonly time: Timestamp },
): Promise<void> => {
  const { entity } = address
  await mutations.database.transaction(async (writer) => {
    const before = await lockForReports(writer, mutations, address)
    if (namedAdapters(entity.requiredAdapters).includes(adapter))
      throw new Problem(
        'conflict',
        `adapter '${adapter}' is required for every ${entity.kind}: take it out of the kind's required_adapters first`,
      )
    const rows = await readStatuses(writer, before.id)
    const left = rows.filter((row) => row.adapter !== adapter)
    if (left.length === rows.length)
      throw new Problem('notFound', `adapter '${adapter}' has no status on ${entity.kind} '${before.id}'`)
    await removeStatus(writer, before.id, adapter)
    const { lastTransitionTime } = before.status
    await applyTransition(writer, mutations, { entity, before, rows: left, lastTransitionTime, time })
  })
  mutations.notifyCommitted()
}
