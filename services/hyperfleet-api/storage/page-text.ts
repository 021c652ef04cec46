import { compileCount, type Filter } from './compile-filter.ts'
import type { KnownTotal, KnownTotals } from './known-totals.ts'
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
  const [row] = await execute<PageTextRow>(source, pageTextQuery(source, page, totalOf(source, page.filter, totals)))
  if (row === undefined) throw new TypeError('an aggregate without groups has one row')
  if (question !== undefined && Number(row.version) === head)
    totals.set(question, { version: head, gap: Number(row.gap), total: Number(row.total) })
  return row.items === null ? undefined : { items: row.items, size: Number(row.size), total: Number(row.total) }
}

/** How many match in all: what is known while nothing has changed since, else counted. One text for both, so that it has one plan. */
export const totalOf = (source: Source, filter: Filter, totals: KnownTotals): SqlText => {
  const counted = sql`(${compileCount(source.dialect, filter)})`
  const question = questionOf(source, filter)
  if (question === undefined) return counted
  const { version, gap, total } = totals.get(question) ?? UNKNOWN
  return sql`case when ${NEWEST_VERSION} = ${version} and ${NEWEST_GAP} = ${gap} then ${total} else ${counted} end`
}

export interface PageTextRow {
  /** Null when a document is too long. */
  readonly items: string | null
  readonly size: number | string
  readonly total: number | string
  /** Of the newest change. */
  readonly version: number | string
  /** Up to where the newest versions lie that no change has: another when a server without some of the last changes takes over. */
  readonly gap: number | string
}

/** The query, apart so that tests can look at its plan. Both databases join what a subquery gives in its order. */
export const pageTextQuery = (
  { dialect }: Source,
  page: Page,
  total = sql`(${compileCount(dialect, page.filter)})`,
): SqlText =>
  sql`select count(*) as size, ${total} as total, ${NEWEST_VERSION} as version, ${NEWEST_GAP} as gap,
      case when count(*) = count(document) then coalesce(string_agg(document, ','), '') end as items
    from (${pageQuery(dialect, page, shortDocument(page.size))}) as page`

/** While a backup is restored the floor may have no row, or one too many. */
const NEWEST_VERSION = sql.raw(
  'coalesce((select max(version) from changes), (select max(version) from change_floor), 0)',
)
const NEWEST_GAP = sql.raw('coalesce((select max(upto) from change_gaps), 0)')
/** No version is below zero. */
const UNKNOWN: KnownTotal = { version: -1, gap: -1, total: 0 }
/** A longer one is counted each time: what is known is bounded in bytes. */
const MAX_QUESTION_CHARS = 4_096

/** The count as text with its values; undefined for a kind as a whole, which is counted as it grows, and for what is too long to keep. */
const questionOf = ({ dialect }: Source, filter: Filter): string | undefined => {
  const { sql: text, parameters } = compileText(dialect, compileCount(dialect, filter))
  const question = `${text} ${JSON.stringify(parameters)}`
  return text.includes('resource_counts') || question.length > MAX_QUESTION_CHARS ? undefined : question
}
