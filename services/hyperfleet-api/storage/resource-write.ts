import { isDeepStrictEqual } from 'node:util'
import type { Condition, Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { ChangeRow, ConditionRow } from './schema.ts'

/**
 * One step of a mutation: what a decision wants to be true of one resource. The row, its search tables and the change
 * that watchers see are written together, in the caller's transaction.
 */
export type ResourceWrite =
  | { readonly type: 'added'; readonly resource: Resource }
  | { readonly type: 'modified'; readonly before: Resource; readonly resource: Resource }
  | { readonly type: 'deleted'; readonly resource: Resource }

/** Any fixed number. Writers share this lock from taking a version until they commit; see feed/changes.ts. */
export const CHANGE_LOCK = 7_233_002

/** The row of a new resource. */
export const resourceRow = (resource: Resource) => ({
  id: resource.id,
  kind: resource.kind,
  owner_id: resource.owner_references?.id ?? null,
  owner_kind: resource.owner_references?.kind ?? null,
  name: resource.name,
  href: resource.href,
  created_time: resource.created_time,
  created_by: resource.created_by,
  tenancy: sortedJson(resource.tenancy),
  ...mutableColumns(resource),
})

/** What of a row can change. */
export const mutableColumns = (resource: Resource) => ({
  generation: resource.generation,
  updated_time: resource.updated_time,
  updated_by: resource.updated_by,
  deleted_time: resource.deleted_time ?? null,
  deleted_by: resource.deleted_by ?? null,
  awaited: resource.status.awaited === undefined ? null : JSON.stringify(resource.status.awaited),
  awaited_groups: resource.status.awaited_groups === undefined ? null : JSON.stringify(resource.status.awaited_groups),
  document: JSON.stringify(resource),
})

/** What of a condition is searched. */
type SearchedCondition = Omit<ConditionRow, 'resource_id' | 'kind' | 'created_time'>

/** The conditions that searches must see otherwise than before. */
export const changedConditions = (before: Resource | undefined, after: Resource): SearchedCondition[] => {
  const known = new Map(before?.status.conditions.map((condition) => [condition.type, searchedFields(condition)]))
  return after.status.conditions
    .map(searchedFields)
    .filter((condition) => !isDeepStrictEqual(condition, known.get(condition.type)))
}

/** The types of the conditions that are no longer there. */
export const removedConditions = (before: Resource | undefined, { status }: Resource): string[] => {
  const left = new Set(status.conditions.map(({ type }) => type))
  return (before?.status.conditions ?? []).map(({ type }) => type).filter((type) => !left.has(type))
}

const searchedFields = ({
  type,
  status,
  observed_generation,
  last_updated_time,
  last_transition_time,
}: Condition): SearchedCondition => ({
  type,
  status,
  observed_generation,
  last_updated_time,
  last_transition_time,
})

/** The change as watchers see it. */
export const changeRow = (step: ResourceWrite, time: Timestamp): Omit<ChangeRow, 'version'> => {
  const { resource } = step
  const labels = JSON.stringify(resource.labels ?? {})
  const before =
    step.type === 'added' ? '{}' : JSON.stringify((step.type === 'modified' ? step.before : resource).labels ?? {})
  return {
    type: step.type,
    resource_id: resource.id,
    kind: resource.kind,
    owner_id: resource.owner_references?.id ?? null,
    labels_before: before,
    labels,
    document: JSON.stringify(resource),
    time,
  }
}

/** JSON of a flat object with its keys in order, so that equal objects are equal texts. */
export const sortedJson = (object: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))))
