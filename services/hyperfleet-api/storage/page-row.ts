import { sql } from 'kysely'

/** A row of a page of documents. Short ones come with it; a long one is read when it is its turn to be sent (API-96). */
export interface PageRow<Key extends string | number = string> {
  readonly key: Key
  /** Length of the document. */
  readonly bytes: number
  readonly document: string | null
}

/** Bytes of documents that come with the rows of a page. */
export const PAGE_BYTES = 512 * 1024

/** Bytes of the longest document that comes with its row, on a page of so many. */
export const shareOf = (size: number): number => Math.floor(PAGE_BYTES / size)

/** The columns of a row but its key. @param column of the document @param size most rows that there are */
export const shortText = (column: string, size: number) =>
  [
    sql<number>`octet_length(${sql.ref(column)})`.as('bytes'),
    sql<string | null>`case when octet_length(${sql.ref(column)}) <= ${sql.lit(shareOf(size))}
      then ${sql.ref(column)} end`.as('document'),
  ] as const
