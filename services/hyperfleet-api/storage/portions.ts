import { compileFilter, type Filter, type FilteredRows } from './compile-filter.ts'
import { allOf, anyOf, type Clause } from './compile-test.ts'
import type { DialectName } from './dialect.ts'
import { filteredRows, isNullable, type Order, orderBy, orderedColumn, type Source, uniqueOrder } from './list.ts'
import type { PageRow } from './page-row.ts'
import { execute, type SqlText, sql } from './sql-text.ts'

/** Bytes of documents that are read at a time; a longer document is read alone. */
export const PORTION_BYTES = 64 * 1024
/** Rows of which only keys and lengths are read at a time. */
const KEYS_READ = 200

/**
 * Takes room for bytes in memory, waiting until there is some.
 * @returns how to give it back
 */
export type TakeRoom = (bytes: number) => Promise<() => void>

/** Does what a costly search asks of the database when it is the caller's turn. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

/**
 * The documents of a whole list, in portions of bounded length: first the keys and lengths of the next rows, then as many
 * documents as make a portion. A portion's room is given back when the next is asked for (API-91).
 */
export async function* readPortions(
  source: Source,
  { filter, order }: { readonly filter: Filter; readonly order: readonly Order[] },
  takeRoom: TakeRoom,
  inTurn: InTurn = (work) => work(),
): AsyncGenerator<readonly string[]> {
  const complete = uniqueOrder(order)
  for (let last: KeyRow | undefined; ; ) {
    const keys = await inTurn(() => readKeys(source, filter, complete, last))
    const rows = keys.map(({ id, bytes }) => ({ key: id, bytes }))
    yield* readMeasured(rows, (portion) => readDocuments(source, filter, portion), takeRoom)
    last = keys.at(-1)
    if (keys.length < KEYS_READ || last === undefined) return
  }
}

/** One row of a list: its length, and where it stands in the order. */
type KeyRow = { readonly id: string; readonly bytes: number } & Readonly<Record<string, string | number | null>>

const keyName = (index: number): string => `key${index}`

const readKeys = async (
  source: Source,
  filter: Filter,
  order: readonly Order[],
  last: KeyRow | undefined,
): Promise<KeyRow[]> => {
  const { dialect } = source
  const from = filteredRows(dialect, filter, order)
  const keys = order.map(({ column }, index) => sql`${from.columnOf(column)} as ${sql.ref(keyName(index))}`)
  const where = allOf([from.where, ...(last === undefined ? [] : [isAfter(dialect, from, order, last)])])
  return execute<KeyRow>(
    source,
    sql`select resources.id, octet_length(resources.document) as bytes, ${sql.join(keys)}
      from ${from.from} where ${where} order by ${orderBy(dialect, from, order)} limit ${sql.number(KEYS_READ)}`,
  )
}

/** Rows that come after one in an order whose last column is unique. */
const isAfter = (dialect: DialectName, rows: FilteredRows, order: readonly Order[], last: KeyRow): Clause => {
  const terms = order.map(({ column, direction }, index) => ({
    column: rows.columnOf(column),
    ordered: orderedColumn(dialect, rows, column),
    isNullable: isNullable(column),
    direction,
    value: last[keyName(index)] ?? null,
  }))
  const later = terms.map((term, index) => allOf([...terms.slice(0, index).map(isEqual), isLater(term)]))
  const [first] = terms
  // Said apart, so that an index on the first column leads to the place at once.
  return first === undefined || first.value === null || first.isNullable
    ? anyOf(later)
    : allOf([compare(first, first.direction === 'asc' ? '>=' : '<='), anyOf(later)])
}

interface Term {
  readonly column: SqlText
  /** As it is compared. */
  readonly ordered: SqlText
  readonly isNullable: boolean
  readonly direction: Order['direction']
  readonly value: string | number | null
}

const isEqual = ({ column, value }: Term): Clause =>
  value === null ? sql`${column} is null` : sql`${column} = ${value}`

/** What is not there is last, and first when descending. */
const isLater = (term: Term): Clause => {
  const { column, direction, value } = term
  if (value === null) return direction === 'asc' ? sql`1 = 0` : sql`${column} is not null`
  if (direction === 'desc') return compare(term, '<')
  return term.isNullable ? anyOf([compare(term, '>'), sql`${column} is null`]) : compare(term, '>')
}

const compare = ({ ordered, value }: Term, operator: '<' | '<=' | '>' | '>='): Clause =>
  sql`${ordered} ${sql.raw(operator)} ${value}`

const totalBytes = (rows: readonly { readonly bytes: number }[]): number =>
  rows.reduce((sum, { bytes }) => sum + bytes, 0)

/** Rows in their order, as many together as are not longer than the limit, and at least one. */
export function* groupByBytes<Row extends { readonly bytes: number }>(
  rows: readonly Row[],
  limit: number,
): Generator<readonly [Row, ...Row[]]> {
  let group: [Row, ...Row[]] | undefined
  for (const row of rows) {
    if (group !== undefined && totalBytes(group) + row.bytes <= limit) {
      group.push(row)
      continue
    }
    if (group !== undefined) yield group
    group = [row]
  }
  if (group !== undefined) yield group
}

/** A row whose document is read later, and how long that was. */
export interface MeasuredRow<Key extends string | number = string> {
  readonly key: Key
  readonly bytes: number
}

/** What is there of documents, by the keys of their rows: the text, or its length alone where that has grown beyond the room that was taken for it. */
export type FoundDocuments<Key extends string | number = string> = ReadonlyMap<Key, string | number>

/** Most bytes of a document that was so long: a report or two make it longer by little, and its portion is read at once all the same. */
const mostBytes = (bytes: number): number => bytes + Math.ceil(bytes / 4) + 1_024

/** What is still there of the rows, and still in the list. */
export const readDocuments = async (
  source: Source,
  filter: Filter,
  rows: readonly MeasuredRow[],
): Promise<FoundDocuments> => {
  // Two parameters, so that portions of all lengths are one statement.
  const { dialect } = source
  const ids = rows.map(({ key }) => key)
  const isOne: Clause =
    dialect === 'postgres'
      ? sql`resources.id = any (${ids}::text[])`
      : sql`resources.id in (select value from json_each(${JSON.stringify(ids)}))`
  const limits = JSON.stringify(Object.fromEntries(rows.map(({ key, bytes }) => [key, mostBytes(bytes)])))
  const limit =
    dialect === 'postgres'
      ? sql`(${limits}::jsonb ->> resources.id)::bigint`
      : sql`json_extract(${limits}, '$."' || resources.id || '"')`
  const found = await execute<{ id: string; bytes: number | string; document: string | null }>(
    source,
    sql`select id, octet_length(document) as bytes, case when octet_length(document) <= ${limit} then document end as document
      from resources where ${allOf([isOne, compileFilter(dialect, filter, true)])}`,
  )
  return new Map(found.map(({ id, bytes, document }) => [id, document ?? Number(bytes)]))
}

/**
 * Documents in the order of their rows, in portions of bounded length, each with its room. One that has grown since it was measured is read with the room that it
 * takes now: its writer could have a portion be any length (API-184).
 */
async function* readMeasured<Key extends string | number>(
  rows: readonly MeasuredRow<Key>[],
  read: (rows: readonly MeasuredRow<Key>[]) => Promise<FoundDocuments<Key>>,
  takeRoom: TakeRoom,
): AsyncGenerator<readonly string[]> {
  for (let left = rows; left.length > 0; ) {
    const [portion = []] = groupByBytes(left, PORTION_BYTES)
    const giveBack = await takeRoom(totalBytes(portion))
    try {
      const found = await read(portion)
      const grown = portion.findIndex(({ key }) => typeof found.get(key) === 'number')
      const done = grown === -1 ? portion.length : grown
      const documents = portion.slice(0, done).flatMap(({ key }) => found.get(key) ?? []) as readonly string[]
      left = left.slice(done).map((row) => {
        const now = found.get(row.key)
        return typeof now === 'number' ? { ...row, bytes: now } : row
      })
      if (done > 0) yield documents
    } finally {
      giveBack()
    }
  }
}

/** The documents of a page: as many short ones as follow each other, and long ones in portions, each with its room. */
export async function* readPage<Key extends string | number>(
  rows: readonly PageRow<Key>[],
  readLong: (rows: readonly MeasuredRow<Key>[]) => Promise<FoundDocuments<Key>>,
  takeRoom: TakeRoom,
): AsyncGenerator<readonly string[]> {
  for (let at = 0; at < rows.length; ) {
    const isShort = ({ document }: PageRow<Key>): boolean => document !== null
    const others = rows.slice(at).findIndex((row) => isShort(row) !== isShort(rows[at] as PageRow<Key>))
    const alike = rows.slice(at, others === -1 ? undefined : at + others)
    at += alike.length
    const short = alike.flatMap(({ document }) => document ?? [])
    if (short.length > 0) {
      yield short
      continue
    }
    yield* readMeasured(alike, readLong, takeRoom)
  }
}
