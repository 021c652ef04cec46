import { aggregateConditions, buildStatus } from './aggregate.ts'
import { computeConditions } from './conditions/computed.ts'
import { awaitedAdapters } from './deletion-gate.ts'
import type { Entity } from './entity.ts'
import type { AdapterStatus, Condition, Resource, ResourceStatus } from './resource.ts'
import type { Timestamp } from './timestamp.ts'

/** What is known about a resource besides the resource itself. */
export interface StatusInput {
  readonly rows: readonly AdapterStatus[]
  readonly previous: readonly Condition[]
  /** Whether child records are left, those in deletion included. */
  readonly hasChildren: boolean
  /** Consumer groups that have not finished with an event from before the deletion. */
  readonly runs: readonly string[]
  /** Of the newest accepted report; undefined while there is none. */
  readonly lastTransitionTime: Timestamp | undefined
}

/** The status of a resource that is new. */
export const NEW_RESOURCE_INPUT: StatusInput = {
  rows: [],
  previous: [],
  hasChildren: false,
  runs: [],
  lastTransitionTime: undefined,
}

/** `status` of a resource as it stands: the one place where every mutation gets it from. */
export const computeStatus = (
  entity: Pick<Entity, 'requiredAdapters' | 'conditions'>,
  resource: Omit<Resource, 'status'>,
  { rows, previous, hasChildren, runs, lastTransitionTime }: StatusInput,
): ResourceStatus => {
  const required = entity.requiredAdapters
  const conditions = aggregateConditions({ resource, rows, required, previous, hasChildren, runs })
  const aggregated = { ...resource, status: buildStatus(resource, conditions, lastTransitionTime) }
  const computed = computeConditions(entity.conditions, aggregated, rows, previous)
  const status = buildStatus(resource, [...conditions, ...computed], lastTransitionTime)
  return resource.deleted_time === undefined
    ? status
    : {
        ...status,
        awaited: awaitedAdapters(resource, rows, required),
        ...(runs.length > 0 && { awaited_groups: runs }),
      }
}
