import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Clause } from './comparison.ts'
import type { DialectName } from './dialect.ts'
import { isOfKind, type Kinds } from './kinds.ts'

/** Looks into the tables beside `resources` that searching is for. */

export type SideTable = 'resource_labels' | 'resource_conditions' | 'resource_specs'

/** Whose rows are looked at. */
export interface Scope {
  readonly dialect: DialectName
  readonly kind: Kinds
  /** How many looks the whole query has. */
  readonly looks: number
}

/**
 * PostgreSQL makes each look a join and considers their orders, which takes seconds for a hundred. Beyond this number
 * each look is planned by itself.
 */
const MOST_JOINED = 8

const fence = ({ dialect, looks }: Scope) => (dialect === 'postgres' && looks > MOST_JOINED ? sql`offset 0` : sql``)

/** A look for rows that fit; a resource has one of them at most. */
export interface Look {
  readonly table: SideTable
  readonly row: Clause
}

/**
 * Resources that have a row that fits. `in (select …)` and not a correlated `exists`: both databases can then start
 * from the side table's index.
 */
export const withRow = (scope: Scope, look: Look, id = sql.ref('resources.id')): Clause =>
  sql<SqlBool>`${id} in (
    select resource_id from ${fitting(scope, look)} ${fence(scope)})`

/** Resources that have none. By the resource, because that is most often nearly everything. */
export const withoutRow = (scope: Scope, { table, row }: Look): Clause =>
  sql<SqlBool>`not exists (select 1 from ${sql.table(table)} where resource_id = resources.id and ${row} ${fence(scope)})`

/** How many resources have a row for each look: side tables are asked alone, whose rows go with their resource. */
export const countWithRows = (scope: Scope, [first, ...others]: readonly [Look, ...Look[]]): RawBuilder<number> => {
  const having = others.map((look) => sql` and ${withRow(scope, look, sql.ref('resource_id'))}`)
  return sql<number>`select count(*) from ${fitting(scope, first)}${sql.join(having, sql``)}`
}

const fitting = ({ kind }: Scope, { table, row }: Look): RawBuilder<unknown> =>
  sql`${sql.table(table)} where ${isOfKind(sql.ref('kind'), kind)} and ${row}`
