import { compileCount, type Filter } from './compile-filter.ts'
import type { KnownTotals } from './known-totals.ts'
import { type Page, pageQuery, type Source, shortDocument } from './list.ts'
import { compileText, execute, type SqlText, sql } from './sql-text.ts'

/** The documents of a page as they are answered, separated by commas. */
export interface PageText {
  readonly items: string
  /** How many they are. */
  readonly size: number
  /** How many match in all. */
  readonly total: number
}

/** What this process knows of totals, and a version such that every change up to it was committed when the list began, or never will be. */
export interface TotalsBefore {
  readonly totals: KnownTotals
  readonly head: number
}

/**
 * A page that the database joins: one row to read, whatever its size. Undefined when a document is too long for that (API-96).
 *
 * A total is counted when anything has changed since it was (API-103). Changes have versions: as long as the newest that a
 * statement sees is the one up to which all were there before an earlier statement, both see the same.
 */
export const readPageText = async (
  source: Source,
  page: Page,
  { totals, head }: TotalsBefore,
): Promise<PageText | undefined> => {
  const question = questionOf(source, page.filter)
  const known = question === undefined ? undefined : totals.get(question)
  const counted = sql`(${compileCount(source.dialect, page.filter)})`
  const total =
    known === undefined
      ? counted
      : sql`case when ${NEWEST_VERSION} = ${known.version} then ${known.total} else ${counted} end`
  const [row] = await execute<PageTextRow>(source, pageTextQuery(source, page, total))
  if (row === undefined) throw new TypeError('an aggregate without groups has one row')
  if (question !== undefined && Number(row.version) === head)
    totals.set(question, { version: head, total: Number(row.total) })
  return row.items === null ? undefined : { items: row.items, size: Number(row.size), total: Number(row.total) }
}

export interface PageTextRow {
  /** Null when a document is too long. */
  readonly items: string | null
  readonly size: number | string
  readonly total: number | string
  /** Of the newest change. */
  readonly version: number | string
}

/** The query, apart so that tests can look at its plan. Both databases join what a subquery gives in its order. */
export const pageTextQuery = (
  { dialect }: Source,
  page: Page,
  total = sql`(${compileCount(dialect, page.filter)})`,
): SqlText =>
  sql`select count(*) as size, ${total} as total, ${NEWEST_VERSION} as version,
      case when count(*) = count(document) then coalesce(string_agg(document, ','), '') end as items
    from (${pageQuery(dialect, page, shortDocument(page.size))}) as page`

const NEWEST_VERSION = sql.raw('coalesce((select max(version) from changes), (select version from change_floor))')

/** The count as text with its values; undefined for a kind as a whole, which is counted as it grows. */
const questionOf = ({ dialect }: Source, filter: Filter): string | undefined => {
  const { sql: text, parameters } = compileText(dialect, compileCount(dialect, filter))
  return text.includes('resource_counts') ? undefined : `${text} ${JSON.stringify(parameters)}`
}
