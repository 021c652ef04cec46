import type { Sink } from '../feed/sink.ts'
import { projectDocument } from '../feed/watch-message.ts'
import type { Projection } from '../model/projection.ts'
import type { PageRow } from '../storage/page-row.ts'
import type { PageText } from '../storage/page-text.ts'
import { type FoundDocuments, type MeasuredRow, readPage } from '../storage/portions.ts'
import type { Room } from '../storage/room.ts'
import type { OperationResponse } from './operation.ts'
import { refuseLargePage } from './page-bytes.ts'

export interface PageResponse<Key extends string | number> {
  readonly rows: readonly PageRow<Key>[]
  readonly page: number
  readonly total: number
  readonly headers?: Readonly<Record<string, string>>
  readonly room: Room
  /** A stored document as it is answered, JSON; the document alone by default. */
  readonly format?: (document: string, row: PageRow<Key>) => string
  /** What is still there of these, by key. */
  readonly readLong: (rows: readonly MeasuredRow<Key>[]) => Promise<FoundDocuments<Key>>
}

export interface TextResponse {
  readonly text: PageText
  readonly page: number
  readonly headers: Readonly<Record<string, string>>
  readonly projection: Projection | undefined
}

/** The page of a list that was read at once. */
export const answerText = ({ text, page, headers, projection }: TextResponse): OperationResponse => {
  const { documents, total } = text
  const ending = pageEnding(page, documents.count, total)
  if (projection === undefined) {
    // Nothing reads the bytes when the answer is sent (API-175).
    return { status: 200, headers, json: documents.frame(BEGINNING, ending), onSent: () => documents.giveBack() }
  }
  const items = documents.documents().map((document) => projectDocument(document, projection))
  documents.giveBack()
  return { status: 200, headers, json: joinItems(items, ending) }
}

const BEGINNING = '{"items":['
const pageEnding = (page: number, size: number, total: number) => `],"page":${page},"size":${size},"total":${total}}`

/** A list as one JSON object, in UTF-8: each item is copied once, while a joined text is copied again to be encoded. */
const joinItems = (items: readonly string[], ending: string): Buffer => {
  const parts = items.flatMap((item, index) => (index === 0 ? [item] : [',', item]))
  return joinBytes([BEGINNING, ...parts, ending])
}

/** One after the other, in UTF-8. */
const joinBytes = (parts: readonly string[]): Buffer => {
  const bytes = Buffer.allocUnsafe(parts.reduce((length, part) => length + Buffer.byteLength(part), 0))
  let end = 0
  for (const part of parts) end += bytes.write(part, end)
  return bytes
}

/** The page of a list; one with long documents is written piece by piece, so that memory is bounded (API-96). @throws Problem pageTooLarge */
export const answerPage = <Key extends string | number>({
  rows,
  page,
  total,
  headers = {},
  room,
  format = (document) => document,
  readLong,
}: PageResponse<Key>): OperationResponse => {
  if (rows.every(({ document }) => document !== null)) {
    const items = rows.map((row) => format(row.document ?? '', row))
    return { status: 200, headers, json: joinItems(items, pageEnding(page, items.length, total)) }
  }
  refuseLargePage(rows.map(({ bytes }) => bytes))
  const byKey = new Map(rows.map((row) => [row.key, row]))
  const formatOne = (key: Key, found: string | number): string | number =>
    typeof found === 'number' ? found : format(found, byKey.get(key) as PageRow<Key>)
  const readFormatted = async (long: readonly MeasuredRow<Key>[]): Promise<FoundDocuments<Key>> =>
    new Map((await readLong(long)).entries().map(([key, found]) => [key, formatOne(key, found)]))
  const formatted = rows.map((row) => (row.document === null ? row : { ...row, document: format(row.document, row) }))
  return {
    status: 200,
    headers,
    mediaType: 'application/json',
    stream: (sink) =>
      writeItems(
        readPage(formatted, readFormatted, (bytes) => room.take(bytes, sink)),
        sink,
        (size) => pageEnding(page, size, total),
      ),
  }
}

/** Writes a list as one JSON object, of which the ending is known once the items are counted. */
export const writeItems = async (
  portions: AsyncIterable<readonly string[]>,
  sink: Sink,
  ending: (count: number) => string,
): Promise<void> => {
  let count = 0
  for await (const items of portions) {
    for (const item of items) {
      sink.write(`${count === 0 ? BEGINNING : ','}${item}`)
      count += 1
    }
    await sink.drained()
    sink.signal.throwIfAborted()
  }
  sink.write(`${count === 0 ? BEGINNING : ''}${ending(count)}`)
}
