import type { Requirement, Selector } from '#operator/model/selector.ts'
import type { Tenancy } from '../auth/tenancy.ts'
import { normalizeSearch } from '../search/normalize.ts'
import type { Search, SearchColumn } from '../search/search-tree.ts'
import { countLookups, type QueryPart, searchParts, toClause } from './compile-search.ts'
import { allOf, type Clause } from './compile-test.ts'
import type { DialectName } from './dialect.ts'
import { isOfKind, type Kinds } from './kinds.ts'
import { sortedJson } from './resource-write.ts'
import { countWithRows, type Lookup, type QueryScope, tableOfRows, withoutRow } from './side-table-lookup.ts'
import { type SqlText, sql } from './sql-text.ts'

/** Which resources a list is about. Everything here becomes a parameter of the query, never its text. */
export interface Filter {
  readonly kind: Kinds
  readonly ownerId?: string
  /** Only resources that name this one. */
  readonly reference?: { readonly type: string; readonly targetId: string }
  /** The tenant; every tenant's when undefined. */
  readonly tenancy?: Tenancy | undefined
  readonly labels?: Selector
  readonly search?: Search
}

/** The filter as a WHERE clause on `resources`. @param isOfFew of a few rows that are named by their ids beside it */
export const compileFilter = (dialect: DialectName, filter: Filter, isOfFew = false): Clause => {
  const { scope, parts } = compileNarrowing(dialect, filter, isOfFew)
  return allOf([isOfKind(sql.ref('resources.kind'), filter.kind), ...parts.map((part) => toClause(scope, part))])
}

/** The rows of `resources` that a filter takes, as the rest of a statement is written. */
export interface FilteredRows {
  readonly from: SqlText
  readonly where: Clause
  /** Where a column is read so that an index gives its order. */
  columnOf(column: SearchColumn): SqlText
}

/** As they come best in the order in which they were made: along the side table of a look whose index has them so. */
export const compileRowsByCreation = (dialect: DialectName, filter: Filter): FilteredRows => {
  const { scope, parts } = compileNarrowing(dialect, filter)
  const leading = parts.find((part) => 'look' in part && part.look.isInOrder === true)
  // The side tables know neither tenants nor owners: along them one tenant's list would cost, and take, what all tenants have.
  const isOwned = filter.tenancy !== undefined || filter.ownerId !== undefined || filter.reference !== undefined
  if (isOwned || leading === undefined || !('look' in leading) || typeof filter.kind !== 'string')
    return compileRows(dialect, filter)
  const others = parts.filter((part) => part !== leading).map((part) => toClause(scope, part))
  return {
    from: sql`${tableOfRows(scope, leading.look, sql.ref('led'))}
      join resources on resources.id = led.resource_id`,
    where: others.length === 0 ? sql`true` : allOf(others),
    columnOf: (column) =>
      column === 'created_time'
        ? sql.ref('led.created_time')
        : sql.ref(column === 'id' ? 'led.resource_id' : `resources.${column}`),
  }
}

/** As they come best in any other order. */
export const compileRows = (dialect: DialectName, filter: Filter): FilteredRows => ({
  from: sql.ref('resources'),
  where: compileFilter(dialect, filter),
  columnOf: (column) => sql.ref(`resources.${column}`),
})

/** How many resources the filter takes, as a query: by the side tables alone where it asks for nothing else. */
export const compileCount = (dialect: DialectName, filter: Filter): SqlText => {
  const { scope, parts } = compileNarrowing(dialect, filter)
  // A kind as a whole is counted as it grows and shrinks (migrations.ts).
  if (parts.length === 0)
    return sql`select coalesce(sum(count), 0) from resource_counts where ${isOfKind(sql.ref('kind'), filter.kind)}`
  const [first, ...others] = parts.flatMap((part) => ('look' in part ? [part.look] : []))
  return first !== undefined && others.length + 1 === parts.length
    ? countWithRows(scope, [first, ...others])
    : sql`select count(*) from resources where ${compileFilter(dialect, filter)}`
}

/** How many looks into side tables all have to find something. */
export const countLooks = (dialect: DialectName, filter: Filter): number =>
  compileNarrowing(dialect, filter).parts.filter((part) => 'look' in part).length

/** What the filter asks beside the kind. */
const compileNarrowing = (
  dialect: DialectName,
  { kind, ownerId, reference, tenancy, labels = [], search }: Filter,
  isOfFew = false,
): { readonly scope: QueryScope; readonly parts: QueryPart[] } => {
  const normal = search === undefined ? undefined : normalizeSearch(search)
  const lookups = labels.length + (normal === undefined ? 0 : countLookups(normal))
  const scope = { dialect, kind, lookups, isOfFew }
  const clauses = [
    ...(ownerId === undefined ? [] : [sql`resources.owner_id = ${ownerId}`]),
    ...(reference === undefined ? [] : [referenceClause(reference)]),
    ...(tenancy === undefined ? [] : [tenancyClause(sortedJson(tenancy))]),
  ]
  const parts = [
    ...clauses.map((clause) => ({ clause })),
    ...labels.map((requirement) => requirementPart(scope, requirement)),
    ...(normal === undefined ? [] : searchParts(scope, normal)),
  ]
  return { scope, parts }
}

const referenceClause = ({ type, targetId }: NonNullable<Filter['reference']>): Clause =>
  sql`resources.id in (
    select source_id from resource_references where target_id = ${targetId} and ref_type = ${type})`

/** Says what the index on tenants is limited to: a database can't know it of a parameter. */
const tenancyClause = (tenancy: string): Clause =>
  tenancy === '{}'
    ? sql`resources.tenancy = ${tenancy}`
    : sql`resources.tenancy = ${tenancy} and resources.tenancy <> '{}'`

/** Kubernetes' meaning: a resource without the label matches NotIn and DoesNotExist. */
const requirementPart = (scope: QueryScope, requirement: Requirement): QueryPart => {
  const key = sql`key = ${requirement.key}`
  const look = (row: Clause, isInOrder = false): Lookup => ({ table: 'resource_labels', row, isInOrder })
  switch (requirement.operator) {
    case 'In':
      return {
        look: look(sql`${key} and value in (${sql.join(requirement.values)})`, requirement.values.length === 1),
      }
    case 'NotIn':
      return {
        clause: withoutRow(scope, look(sql`${key} and value in (${sql.join(requirement.values)})`)),
      }
    case 'Exists':
      return { look: look(key) }
    case 'DoesNotExist':
      return { clause: withoutRow(scope, look(key)) }
  }
}
