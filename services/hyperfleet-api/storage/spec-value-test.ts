import type { Test, Value } from '../search/search-tree.ts'
import { anyOf, byBytes, type Clause, compileTest, unordered, whileInTime } from './compile-test.ts'
import type { DialectName } from './dialect.ts'
import { type SqlText, sql } from './sql-text.ts'

/**
 * Tests of one value in a row of `resource_specs`.
 *
 *   text in the search     = != in: JSON text, or a number or boolean that is written so; else JSON text only
 *   a number               JSON numbers only
 *
 * What has another type fits neither way. Objects and lists are only there or not there.
 */
export const specValueTest = (dialect: DialectName, path: readonly string[], test: Test, holds: boolean): Clause =>
  whileInTime(dialect, compileSpecTest(dialect, path, test, holds))

const compileSpecTest = (dialect: DialectName, path: readonly string[], test: Test, holds: boolean): Clause => {
  switch (test.operator) {
    case '=':
    case '!=':
      return compileEquality(dialect, path, [test.value], holds === (test.operator === '='))
    case 'in':
      return compileEquality(dialect, path, test.values, holds)
    default: {
      const at = locateValue(dialect, path)
      const isNumeric = typeof ('value' in test ? test.value : 'low' in test ? test.low : test.pattern) === 'number'
      const value = isNumeric ? at.number : byBytes(dialect, at.text)
      return sql`${at.typed(isNumeric ? NUMBERS : TEXTS)} and ${compileTest(dialect, unordered(value), test, holds)}`
    }
  }
}

/** The value is there and is not JSON's null. */
export const hasSpecValue = (dialect: DialectName, path: readonly string[]): Clause =>
  whileInTime(dialect, sql`${locateValue(dialect, path).type} <> 'null'`)

/** Names of JSON types, of both databases. */
const TEXTS = ['string', 'text']
const NUMBERS = ['number', 'integer', 'real']
const SCALARS = [...TEXTS, ...NUMBERS, 'boolean', 'true', 'false']

/** Is, or is not, one of the values; either way it must be something that could be. */
const compileEquality = (
  dialect: DialectName,
  path: readonly string[],
  values: readonly Value[],
  isEqual: boolean,
): Clause => {
  const written = values.flatMap(jsonTexts)
  const at = locateValue(dialect, path)
  if (!isEqual) {
    const types = values.every((value) => typeof value === 'number') ? NUMBERS : SCALARS
    return sql`${at.typed(types)} and ${at.json} not in (${sql.join(written)})`
  }
  // Each document below has the whole path: of a long one with many values they would be megabytes.
  const isLong = written.length * path.join().length > MAX_DOCUMENTS_CHARS
  if (dialect === 'sqlite' || isLong) return sql`${at.json} in (${sql.join(written)})`
  // Containment of a document with this one value: what the index on specs answers.
  const documents = written.map((json) => path.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, json))
  return anyOf(documents.map((document) => sql`spec @> ${document}`))
}

const MAX_DOCUMENTS_CHARS = 16_384

/** What the value may be as JSON: `'3'` finds the text and the number. */
const jsonTexts = (value: Value): string[] => {
  if (typeof value === 'number') return [JSON.stringify(value)]
  const isBare = value === 'true' || value === 'false' || JSON.stringify(Number(value)) === value
  return isBare ? [JSON.stringify(value), value] : [JSON.stringify(value)]
}

interface LocatedValue {
  readonly json: SqlText
  readonly text: SqlText
  /** To be compared with a number, once it is known to be one. */
  readonly number: SqlText
  readonly type: SqlText
  readonly typed: (types: readonly string[]) => Clause
}

const locateValue = (dialect: DialectName, path: readonly string[]): LocatedValue => {
  const at = dialect === 'postgres' ? postgresValue(path) : sqliteValue(path)
  return { ...at, typed: (types) => sql`${at.type} in (${sql.raw(types.map((type) => `'${type}'`).join(', '))})` }
}

const postgresValue = (path: readonly string[]) => {
  // Step by step: a path would also index lists.
  const json = sql`(spec ${sql.join(
    path.map((key) => sql`-> ${key}::text`),
    ' ',
  )})`
  // JSON compares with JSON: a cast to a number fails where the value is none.
  return { json, text: sql`(${json} #>> '{}')`, number: json, type: sql`jsonb_typeof(${json})` }
}

const sqliteValue = (path: readonly string[]) => {
  const place = `$${path.map((key) => `."${key}"`).join('')}`
  const text = sql`(spec ->> ${place})`
  return { json: sql`(spec -> ${place})`, text, number: text, type: sql`json_type(spec, ${place})` }
}
