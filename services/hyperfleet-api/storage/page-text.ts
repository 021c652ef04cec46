import { compileCount } from './compile-filter.ts'
import { type Page, pageQuery, shortDocument, type Source } from './list.ts'
import { execute, type SqlText, sql } from './sql-text.ts'

/** The documents of a page as they are answered, separated by commas. */
export interface PageText {
  readonly items: string
  /** How many they are. */
  readonly size: number
  /** How many match in all. */
  readonly total: number
}

/** A page that the database joins: one row to read, whatever its size. Undefined when a document is too long for that (API-96). */
export const readPageText = async (source: Source, page: Page): Promise<PageText | undefined> => {
  const [row] = await execute<PageTextRow>(source, pageTextQuery(source, page))
  return row === undefined || row.items === null
    ? undefined
    : { items: row.items, size: Number(row.size), total: Number(row.total) }
}

export interface PageTextRow {
  /** Null when a document is too long. */
  readonly items: string | null
  readonly size: number | string
  readonly total: number | string
}

/** The query, apart so that tests can look at its plan. Both databases join what a subquery gives in its order. */
export const pageTextQuery = ({ dialect }: Source, page: Page): SqlText =>
  sql`select count(*) as size, (${compileCount(dialect, page.filter)}) as total,
      case when count(*) = count(document) then coalesce(string_agg(document, ','), '') end as items
    from (${pageQuery(dialect, page, shortDocument(page.size))}) as page`
