import { type RawBuilder, sql } from 'kysely'
import { COLUMNS, type SearchColumn } from '../search/search-tree.ts'
import { compileCount, compileFilter, type Filter } from './compile-filter.ts'
import { byBytes } from './compile-test.ts'
import type { Database } from './database.ts'
import type { DialectName } from './dialect.ts'
import { type PageRow, shortText } from './page-row.ts'

/** One column that a list is ordered by: what can be searched can be ordered by. */
export interface Order {
  readonly column: SearchColumn
  readonly direction: 'asc' | 'desc'
}

export interface Page {
  readonly filter: Filter
  readonly order: readonly Order[]
  readonly size: number
  /** By offset, or after an id in the order of ids ('' begins). */
  readonly from: { readonly offset: number } | { readonly after: string }
}

/** What queries need of the database. */
export type Source = Pick<Database, 'kysely' | 'dialect'>

/** The rows of one page and how many match in all, of one moment. */
export const listPage = async (
  source: Source,
  page: Page,
): Promise<{ readonly rows: readonly PageRow[]; readonly total: number }> => {
  const rows = await countedPageQuery(source, page).execute()
  const [first] = rows
  if (first !== undefined) return { rows, total: Number(first.total) }
  const isFirst = 'after' in page.from ? page.from.after === '' : page.from.offset === 0
  return { rows, total: isFirst ? 0 : await countResources(source, page.filter) }
}

/** The queries, apart so that tests can look at their plans. */
export const countedPageQuery = (source: Source, page: Page) =>
  // Not about the rows, so it is evaluated once, and not at all when there are none.
  pageQuery(source, page).select(sql<number>`(${compileCount(source.dialect, page.filter)})`.as('total'))

const pageQuery = ({ kysely, dialect }: Source, { filter, order, size, from }: Page) => {
  const query = kysely
    .selectFrom('resources')
    .select(['resources.id as key', ...shortText('resources.document', size)])
    .where(compileFilter(dialect, filter))
    .limit(size)
  const id = byBytes(dialect, sql.ref('resources.id'))
  if ('after' in from) return query.where(sql<boolean>`${id} > ${from.after}`).orderBy(id, 'asc')
  return uniqueOrder(order)
    .reduce((ordered, one) => ordered.orderBy(orderOf(dialect, one)), query)
    .offset(from.offset)
}

/** The order with a unique column at its end: without one, pages over equal values would overlap. */
export const uniqueOrder = (order: readonly Order[]): readonly Order[] =>
  order.some(({ column }) => column === 'id')
    ? order
    : [...order, { column: 'id', direction: order[0]?.direction ?? 'desc' }]

const NULLABLE: ReadonlySet<SearchColumn> = new Set(['deleted_time', 'deleted_by', 'owner_id', 'owner_kind'])

/** Whether a resource may be without it. */
export const isNullable = (column: SearchColumn): boolean => NULLABLE.has(column)

/** A column as lists compare it. */
export const orderedColumn = (dialect: DialectName, column: SearchColumn): RawBuilder<unknown> => {
  const value = sql.ref(`resources.${column}`)
  return COLUMNS[column] === 'text' ? byBytes(dialect, value) : value
}

/** PostgreSQL's place for what is not there, which is the Go service's: last, and first when descending. */
export const orderOf = (dialect: DialectName, { column, direction }: Order): RawBuilder<unknown> => {
  const nulls = isNullable(column) ? sql.raw(direction === 'asc' ? ' nulls last' : ' nulls first') : sql``
  return sql`${orderedColumn(dialect, column)} ${sql.raw(direction)}${nulls}`
}

const countResources = async ({ kysely, dialect }: Source, filter: Filter): Promise<number> => {
  const { rows } = await sql<{ total: number }>`select (${compileCount(dialect, filter)}) as total`.execute(kysely)
  return Number(rows[0]?.total ?? 0)
}
