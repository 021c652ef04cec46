import { aggregate, statusOf } from './aggregate.ts'
import { computedConditions } from './conditions/computed.ts'
import type { Entity } from './entity.ts'
import { awaitedAdapters } from './gate.ts'
import type { AdapterStatus, Condition, Resource, ResourceStatus } from './resource.ts'
import type { Timestamp } from './timestamp.ts'

/** What is known about a resource besides the resource itself. */
export interface Known {
  readonly rows: readonly AdapterStatus[]
  readonly previous: readonly Condition[]
  /** Whether child records are left, those in deletion included. */
  readonly hasChildren: boolean
  /** Of the newest accepted report; undefined while there is none. */
  readonly lastTransitionTime: Timestamp | undefined
}

/** The status of a resource that is new. */
export const NOTHING_KNOWN: Known = { rows: [], previous: [], hasChildren: false, lastTransitionTime: undefined }

/** `status` of a resource as it stands: the one place where every mutation gets it from. */
export const resourceStatus = (
  entity: Pick<Entity, 'requiredAdapters' | 'conditions'>,
  resource: Omit<Resource, 'status'>,
  { rows, previous, hasChildren, lastTransitionTime }: Known,
): ResourceStatus => {
  const conditions = aggregate({ resource, rows, required: entity.requiredAdapters, previous, hasChildren })
  const aggregated = { ...resource, status: statusOf(resource, conditions, lastTransitionTime) }
  const computed = computedConditions(entity.conditions, aggregated, rows, previous)
  const status = statusOf(resource, [...conditions, ...computed], lastTransitionTime)
  return resource.deleted_time === undefined
    ? status
    : { ...status, awaited: awaitedAdapters(resource, rows, entity.requiredAdapters) }
}
