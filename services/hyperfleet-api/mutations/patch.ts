import { isDeepStrictEqual } from 'node:util'
import { checkLabels } from '../model/check-names.ts'
import { computeStatus } from '../model/compute-status.ts'
import type { Entity } from '../model/entity.ts'
import type { ReferenceDraft } from '../model/reference.ts'
import type { AdapterStatus, JsonObject, Resource } from '../model/resource.ts'
import { Problem } from '../problems/problem.ts'
import { type Address, lockResource } from '../storage/resources.ts'
import { readStatuses } from '../storage/statuses.ts'
import { writeResource } from '../storage/write-resource.ts'
import type { Caller, MutationContext, Precondition } from './context.ts'
import { lockReferences } from './lock-references.ts'

/** What a caller may change; each given part replaces what is there. */
export interface Patch {
  readonly spec?: JsonObject
  readonly labels?: Readonly<Record<string, string>> | null
  readonly references?: ReferenceDraft | null
}

/** Replaces spec, labels, references or several of them. A patch that changes nothing touches nothing. @throws Problem */
export const patchResource = async (
  { database, specs, notifyCommitted }: MutationContext,
  address: Address,
  patch: Patch,
  caller: Caller,
  precondition?: Precondition<Resource>,
): Promise<Resource> => {
  if (patch.spec !== undefined) specs.check(address.entity.specSchema?.name, patch.spec)
  const errors = checkLabels(patch.labels ?? {})
  const [first] = errors
  if (first !== undefined) throw new Problem('invalid', `${first.field} ${first.message}`, errors)
  const resource = await database.transaction(async (writer) => {
    const before = await lockResource(writer, database, address)
    if (before.deleted_time !== undefined)
      throw new Problem('conflict', `${before.kind} '${before.id}' is being deleted and can't be changed`)
    precondition?.(before)
    if (!isChange(before, patch)) return before
    const rows = await readStatuses(writer, before.id)
    const references =
      patch.references == null
        ? before.references
        : await lockReferences(writer, database, address.entity, patch.references, caller.tenancy)
    const after = buildPatched(address.entity, before, { ...patch, references }, caller, rows)
    await writeResource(writer, database.dialect, { type: 'modified', before, resource: after }, caller.time)
    return after
  })
  notifyCommitted()
  return resource
}

/** Key order doesn't count: the same JSON is the same spec. References count when they are given, changed or not, as the Go service's do. */
const isChange = (before: Resource, { spec, labels, references }: Patch): boolean =>
  (spec !== undefined && !isDeepStrictEqual(spec, before.spec)) ||
  (labels !== undefined && labels !== null && !isDeepStrictEqual(labels, before.labels ?? {})) ||
  references != null

/** The next generation, not ready until the adapters have caught up with it. API-14. */
const buildPatched = (
  entity: Entity,
  before: Resource,
  { spec, labels, references }: Omit<Patch, 'references'> & Pick<Resource, 'references'>,
  { identity, time }: Caller,
  rows: readonly AdapterStatus[],
): Resource => {
  const { labels: labelsBefore, references: _, ...rest } = before
  const labelsAfter = labels ?? labelsBefore ?? {}
  const after = {
    ...rest,
    ...(Object.keys(labelsAfter).length > 0 && { labels: labelsAfter }),
    spec: spec ?? before.spec,
    ...(references !== undefined && { references }),
    generation: before.generation + 1,
    updated_time: time,
    updated_by: identity,
  }
  const { conditions: previous, lastTransitionTime } = before.status
  // Children count in a deletion only, and what is in deletion takes no patch.
  const known = { rows, previous, hasChildren: false, runs: [], lastTransitionTime }
  return { ...after, status: computeStatus(entity, after, known) }
}
