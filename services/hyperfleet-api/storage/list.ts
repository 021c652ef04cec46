import { COLUMNS, type SearchColumn } from '../search/search-tree.ts'
import { compileCount, compileRows, compileRowsByCreation, type Filter, type FilteredRows } from './compile-filter.ts'
import { allOf, byBytes, type Clause } from './compile-test.ts'
import type { Database } from './database.ts'
import type { DialectName } from './dialect.ts'
import { type PageRow, shareOf } from './page-row.ts'
import type { ResourceRow } from './schema.ts'
import { execute, type SqlText, sql } from './sql-text.ts'

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

/** The rows of one page and how many match in all, of one moment. @param total how that is found out */
export const listPage = async (
  source: Source,
  page: Page,
  total = sql`(${compileCount(source.dialect, page.filter)})`,
): Promise<{ readonly rows: readonly PageRow[]; readonly total: number }> => {
  const rows = await execute<CountedRow>(source, countedPageQuery(source, page, total))
  const [first] = rows
  if (first !== undefined) return { rows, total: Number(first.total) }
  const isFirst = 'after' in page.from ? page.from.after === '' : page.from.offset === 0
  return { rows, total: isFirst ? 0 : await countResources(source, page.filter) }
}

type CountedRow = PageRow & { readonly total: number | string }

const countedPageQuery = ({ dialect }: Source, page: Page, total: SqlText): SqlText =>
  // The count is not about the rows, so it is evaluated once, and not at all when there are none.
  pageQuery(
    dialect,
    page,
    sql`resources.id as key, octet_length(resources.document) as bytes, ${shortDocument(page.size)},
      ${total} as total`,
  )

/** The rows of a page. Size and the first offset are in its text: a plan for any number of rows would be made for a tenth of all. */
export const pageQuery = (dialect: DialectName, { filter, order, size, from }: Page, columns: SqlText): SqlText => {
  const complete = 'after' in from ? IN_ORDER_OF_IDS : uniqueOrder(order)
  const rows = filteredRows(dialect, filter, complete)
  const after: Clause[] = 'after' in from ? [sql`${orderedColumn(dialect, rows, 'id')} > ${from.after}`] : []
  return sql`select ${columns}
    from ${rows.from} where ${allOf([rows.where, ...after])} order by ${orderBy(dialect, rows, complete)}
    limit ${sql.number(size)}${'after' in from || from.offset === 0 ? sql`` : sql` offset ${from.offset}`}`
}

/** The document where it is short enough to come with its row. @param size most rows that there are */
export const shortDocument = (size: number): SqlText =>
  sql`case when octet_length(resources.document) <= ${sql.number(shareOf(size))} then resources.document end as document`

const IN_ORDER_OF_IDS: readonly Order[] = [{ column: 'id', direction: 'asc' }]

/** The rows of a list, as they come best in an order whose last column is unique. */
export const filteredRows = (dialect: DialectName, filter: Filter, order: readonly Order[]): FilteredRows => {
  const [first, second] = order
  return first?.column === 'created_time' && second?.column === 'id' && first.direction === second.direction
    ? compileRowsByCreation(dialect, filter)
    : compileRows(dialect, filter)
}

/** The order with a unique column at its end: without one, pages over equal values would overlap. */
export const uniqueOrder = (order: readonly Order[]): readonly Order[] =>
  order.some(({ column }) => column === 'id')
    ? order
    : [...order, { column: 'id', direction: order[0]?.direction ?? 'desc' }]

type NullableColumn = { [Column in SearchColumn]: null extends ResourceRow[Column] ? Column : never }[SearchColumn]

const NULLABLE: Readonly<Record<NullableColumn, true>> = {
  deleted_time: true,
  deleted_by: true,
  owner_id: true,
  owner_kind: true,
}

/** Whether a resource may be without it. */
export const isNullable = (column: SearchColumn): boolean => Object.hasOwn(NULLABLE, column)

/** A column as lists compare it. */
export const orderedColumn = (dialect: DialectName, rows: FilteredRows, column: SearchColumn): SqlText => {
  const value = rows.columnOf(column)
  return COLUMNS[column] === 'text' ? byBytes(dialect, value) : value
}

/** What comes after the words `order by`. @param order at least one */
export const orderBy = (dialect: DialectName, rows: FilteredRows, order: readonly Order[]): SqlText =>
  sql.join(order.map((one) => orderOf(dialect, rows, one)))

/** PostgreSQL's place for what is not there, which is the Go service's: last, and first when descending. */
const orderOf = (dialect: DialectName, rows: FilteredRows, { column, direction }: Order): SqlText => {
  const nulls = isNullable(column) ? sql.raw(direction === 'asc' ? ' nulls last' : ' nulls first') : sql``
  return sql`${orderedColumn(dialect, rows, column)} ${sql.raw(direction)}${nulls}`
}

const countResources = async (source: Source, filter: Filter): Promise<number> => {
  const query = sql`select (${compileCount(source.dialect, filter)}) as total`
  const [row] = await execute<{ total: number | string }>(source, query)
  return Number(row?.total ?? 0)
}
