import { type SqlBool, sql } from 'kysely'
import type { Requirement, Selector } from '#operator/model/selector.ts'
import type { Tenancy } from '../auth/tenancy.ts'
import { normalSearch } from '../search/normal.ts'
import type { Search } from '../search/tree.ts'
import { allOf, type Clause } from './comparison.ts'
import type { DialectName } from './database.ts'
import { isOfKind, type Kinds } from './kinds.ts'
import { looksOf, searchClause } from './search.ts'
import { type Scope, withoutRow, withRow } from './side-table.ts'
import { sortedJson } from './step.ts'

/** Which resources a list is about. Everything here becomes a parameter of the query, never its text. */
export interface Filter {
  readonly kind: Kinds
  readonly ownerId?: string
  /** Only resources that name this one. */
  readonly reference?: { readonly type: string; readonly targetId: string }
  /** Whose; anybody's when undefined. */
  readonly tenancy?: Tenancy | undefined
  readonly labels?: Selector
  readonly search?: Search
}

/** The filter as a WHERE clause on `resources`. */
export const where = (
  dialect: DialectName,
  { kind, ownerId, reference, tenancy, labels = [], search }: Filter,
): Clause => {
  const normal = search === undefined ? undefined : normalSearch(search)
  const scope = { dialect, kind, looks: labels.length + (normal === undefined ? 0 : looksOf(normal)) }
  return allOf([
    isOfKind(sql.ref('resources.kind'), kind),
    ...(ownerId === undefined ? [] : [sql<SqlBool>`resources.owner_id = ${ownerId}`]),
    ...(reference === undefined ? [] : [referenceClause(reference)]),
    ...(tenancy === undefined ? [] : [tenancyClause(sortedJson(tenancy))]),
    ...labels.map((requirement) => requirementClause(scope, requirement)),
    ...(normal === undefined ? [] : [searchClause(scope, normal)]),
  ])
}

const referenceClause = ({ type, targetId }: NonNullable<Filter['reference']>): Clause =>
  sql<SqlBool>`resources.id in (
    select source_id from resource_references where target_id = ${targetId} and ref_type = ${type})`

/** Says what the index on tenants is limited to: a database can't know it of a parameter. */
const tenancyClause = (tenancy: string): Clause =>
  tenancy === '{}'
    ? sql<SqlBool>`resources.tenancy = ${tenancy}`
    : sql<SqlBool>`resources.tenancy = ${tenancy} and resources.tenancy <> '{}'`

/** Whether the filter takes every resource of its kind. */
export const isWholeKind = ({ ownerId, reference, tenancy, labels = [], search }: Filter): boolean =>
  ownerId === undefined &&
  reference === undefined &&
  tenancy === undefined &&
  labels.length === 0 &&
  search === undefined

/** Kubernetes' meaning: a resource without the label matches NotIn and DoesNotExist. */
const requirementClause = (scope: Scope, requirement: Requirement): Clause => {
  const key = sql<SqlBool>`key = ${requirement.key}`
  switch (requirement.operator) {
    case 'In':
      return withRow(scope, 'resource_labels', sql<SqlBool>`${key} and value in (${sql.join(requirement.values)})`)
    case 'NotIn':
      return withoutRow(scope, 'resource_labels', sql<SqlBool>`${key} and value in (${sql.join(requirement.values)})`)
    case 'Exists':
      return withRow(scope, 'resource_labels', key)
    case 'DoesNotExist':
      return withoutRow(scope, 'resource_labels', key)
  }
}
