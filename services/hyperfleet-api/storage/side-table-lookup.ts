import type { Clause } from './compile-test.ts'
import type { DialectName } from './dialect.ts'
import { isOfKind, type Kinds } from './kinds.ts'
import { type SqlText, sql } from './sql-text.ts'

/** Looks into the tables beside `resources` that searching is for. */

export type SideTable = 'resource_labels' | 'resource_conditions' | 'resource_specs'

/** Whose rows are looked at. */
export interface QueryScope {
  readonly dialect: DialectName
  readonly kind: Kinds
  /** How many looks the whole query has. */
  readonly lookups: number
  /** The resources are few, and named by their ids: each is looked up by itself. */
  readonly isOfFew?: boolean
}

/**
 * PostgreSQL makes each look a join and considers their orders, which takes seconds for a hundred. Beyond this number
 * each look is planned by itself.
 */
const MAX_JOINED_LOOKUPS = 8

const optimizerFence = ({ dialect, lookups }: QueryScope) =>
  dialect === 'postgres' && lookups > MAX_JOINED_LOOKUPS ? sql`offset 0` : sql``

/** A look for rows that fit; a resource has one of them at most. */
export interface Lookup {
  readonly table: SideTable
  readonly row: Clause
  /** What fits stands together in the index by creation: it comes in that order without being sorted. */
  readonly isInOrder?: boolean
}

/**
 * Resources that have a row that fits. `in (select …)` and not a correlated `exists`: both databases can then start
 * from the side table's index. Of few resources that would read all that fits for each portion of a list (API-192).
 */
export const withRow = (scope: QueryScope, look: Lookup, id = sql.ref('resources.id')): Clause =>
  scope.isOfFew === true
    ? sql`exists (select 1 from ${matchingRows(scope, look)} and resource_id = ${id} ${eachByItself(scope)})`
    : sql`${id} in (
    select resource_id from ${matchingRows(scope, look)} ${optimizerFence(scope)})`

/** Resources that have none. By the resource, because that is most often nearly everything; by the kind, which leads to the few that have one. */
export const withoutRow = (scope: QueryScope, look: Lookup): Clause =>
  sql`not exists (select 1 from ${matchingRows(scope, look)} and resource_id = resources.id ${
    scope.isOfFew === true ? eachByItself(scope) : optimizerFence(scope)
  })`

/** Else PostgreSQL makes a join of it, which may begin at the other end. */
const eachByItself = ({ dialect }: QueryScope) => (dialect === 'postgres' ? sql`offset 0` : sql``)

/** How many resources have a row for each look: side tables are asked alone, whose rows go with their resource. */
export const countWithRows = (scope: QueryScope, [first, ...others]: readonly [Lookup, ...Lookup[]]): SqlText => {
  const having = others.map((look) => sql` and ${withRow(scope, look, sql.ref('resource_id'))}`)
  return sql`select count(*) from ${matchingRows(scope, first)}${sql.join(having, '')}`
}

/** What fits, as a table with the id of each resource and when it was made. */
export const tableOfRows = (scope: QueryScope, look: Lookup, name: SqlText): SqlText =>
  sql`(select resource_id, created_time from ${matchingRows(scope, look)}) as ${name}`

const matchingRows = ({ kind }: QueryScope, { table, row }: Lookup): SqlText =>
  sql`${sql.ref(table)} where ${isOfKind(sql.ref('kind'), kind)} and ${row}`
