import { compileCount, countLooks, type Filter } from './compile-filter.ts'
import type { KnownTotal, KnownTotals } from './known-totals.ts'
import { type Page, pageQuery, type Source, shortDocument } from './list.ts'
import { PageBuffer } from './page-buffer.ts'
import { compileText, executeInto, type SqlText, sql } from './sql-text.ts'

/** The documents of a page as they are answered, each JSON. */
export interface PageText {
  /** To be given back when it is sent. */
  readonly documents: PageBuffer
  /** How many match in all. */
  readonly total: number
}

/** What this process knows of totals, and a version such that every change up to it was committed when the list began, or never will be. */
export interface TotalsBefore {
  readonly totals: KnownTotals
  readonly head: number
}

/**
 * A page as one text, read with its total in one statement. Undefined when a document is too long for that (API-96).
 *
 * A total is counted when anything has changed since it was (API-103). Changes have versions: as long as the newest that a
 * statement sees is the one up to which all were there before an earlier statement, both see the same. PostgreSQL plans what
 * joins several looks each time, so there a total that is known is not in the statement (API-177); one look keeps its plan.
 */
export const readPageText = async (
  source: Source,
  page: Page,
  { totals, head }: TotalsBefore,
): Promise<PageText | undefined> => {
  const question = questionOf(source, page.filter)
  const known = question === undefined ? undefined : totals.get(question)
  if (known?.version === head && countLooks(source.dialect, page.filter) > 1) {
    const { documents, version, gap } = await readDocuments(source, page, UNCOUNTED)
    if (version === known.version && gap === known.gap) return wholePage(documents, known.total)
    documents.giveBack()
  }
  const { documents, total, version, gap } = await readDocuments(source, page, totalOf(source, page.filter, totals))
  if (question !== undefined && version === head) totals.set(question, { version: head, gap, total })
  return wholePage(documents, total)
}

const readDocuments = async (source: Source, page: Page, total: SqlText) => {
  const documents = new PageBuffer()
  await executeInto(source, pageTextQuery(source, page, total), documents)
  return { documents, ...parseNumbers(documents.numbers) }
}

const wholePage = (documents: PageBuffer, total: number): PageText | undefined => {
  if (documents.isWhole) return { documents, total }
  documents.giveBack()
  return undefined
}

/** In the place of a total. */
const UNCOUNTED = sql.raw("'0'")

/** How many match in all: what is known while nothing has changed since, else counted. One text for both, so that it has one plan. */
export const totalOf = (source: Source, filter: Filter, totals: KnownTotals): SqlText => {
  const counted = sql`(${compileCount(source.dialect, filter)})`
  const question = questionOf(source, filter)
  if (question === undefined) return counted
  const { version, gap, total } = totals.get(question) ?? UNKNOWN
  return sql`case when ${NEWEST_VERSION} = ${version} and ${NEWEST_GAP} = ${gap} then ${total} else ${counted} end`
}

const parseNumbers = (numbers: string | undefined) => {
  if (numbers === undefined) throw new TypeError('a page has a row of numbers')
  const [total = 0, version = 0, gap = 0] = numbers.split(' ').map(Number)
  return { total, version, gap }
}

/**
 * The query, apart so that tests can look at its plan. The documents are not joined by the database: a text of 300 KB is copied there
 * several times, which takes as long as finding it.
 */
export const pageTextQuery = (
  { dialect }: Source,
  page: Page,
  total = sql`(${compileCount(dialect, page.filter)})`,
): SqlText =>
  sql`select ${total} || ' ' || ${NEWEST_VERSION} || ' ' || ${NEWEST_GAP} as text
    union all select document from (${pageQuery(dialect, page, shortDocument(page.size))}) as page`

/** While a backup is restored the floor may have no row, or one too many. */
const NEWEST_VERSION = sql.raw(
  'coalesce((select max(version) from changes), (select max(version) from change_floor), 0)',
)
/** Up to where the newest versions lie that no change has: another when a server without some of the last changes takes over. */
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
