import type { RequiredAdapters } from '../entity-config.ts'
import type { AdapterStatus, Condition, Resource } from '../resource.ts'

/** All that a resource's conditions follow from. The clock is not part of it: the same input gives the same conditions (API-22). */
export interface AggregationInput {
  readonly resource: Pick<Resource, 'generation' | 'updated_time' | 'deleted_time' | 'labels'> &
    Partial<Pick<Resource, 'created_time'>>
  readonly rows: readonly AdapterStatus[]
  readonly required: RequiredAdapters
  readonly previous: readonly Condition[]
  /** Whether child records are left, those in deletion included. */
  readonly hasChildren: boolean
  /** Consumer groups that have not finished with an event from before the deletion (API-50). */
  readonly runs?: readonly string[]
}
