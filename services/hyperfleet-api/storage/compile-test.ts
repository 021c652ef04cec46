import type { Comparison, Test, Value } from '../search/search-tree.ts'
import type { DialectName } from './dialect.ts'
import { IN_TIME } from './search-time.ts'
import { type SqlText, sql } from './sql-text.ts'

/** A condition of a query. */
export type Clause = SqlText

/** @param clauses at least one */
export const allOf = (clauses: readonly Clause[]): Clause => sql`(${sql.join(clauses, ' and ')})`

/** @param clauses at least one */
export const anyOf = (clauses: readonly Clause[]): Clause => sql`(${sql.join(clauses, ' or ')})`

/**
 * A stored value as both databases must see it. Text is ordered by its bytes, whatever language PostgreSQL was set up
 * for; it is equal or not without that, and only so does an index in the database's own order serve.
 */
export interface StoredValue {
  readonly equal: SqlText
  readonly ordered: SqlText
}

/** One that both databases compare and order alike by themselves. */
export const unordered = (value: SqlText): StoredValue => ({ equal: value, ordered: value })

/** `isByteIndexed` when the index that serves it is in byte order itself. */
export const textValue = (dialect: DialectName, value: SqlText, isByteIndexed = false): StoredValue => {
  const ordered = byBytes(dialect, value)
  return { equal: isByteIndexed ? ordered : value, ordered }
}

/** Text in the order of its bytes. */
export const byBytes = (dialect: DialectName, value: SqlText): SqlText =>
  dialect === 'postgres' ? sql`${value} collate "C"` : value

/**
 * A clause whose cost for one row grows with what is stored there. SQLite runs in this process and is never interrupted, so it
 * asks before each whether its time is over (API-99); PostgreSQL has its own limit of a statement.
 */
export const whileInTime = (dialect: DialectName, clause: Clause): Clause =>
  dialect === 'postgres' ? clause : sql`(${sql.raw(IN_TIME)}() and ${clause})`

const OPPOSITE: Readonly<Record<Comparison, Comparison>> = {
  '=': '!=',
  '!=': '=',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
}

/** The test of a stored value, or its opposite. What isn't there fits neither. */
export const compileTest = (dialect: DialectName, stored: StoredValue, test: Test, holds: boolean): Clause => {
  const not = holds ? sql`` : sql`not`
  switch (test.operator) {
    case 'in':
      return sql`${stored.equal} ${not} in (${sql.join(test.values)})`
    case 'between':
      return sql`${stored.ordered} ${not} between ${test.low} and ${test.high}`
    case 'like':
      return dialect === 'postgres'
        ? sql`${stored.ordered} ${not} like ${test.pattern}`
        : whileInTime(dialect, sql`${stored.ordered} ${not} glob ${globOf(test.pattern)}`)
    case 'ilike':
      return dialect === 'postgres'
        ? sql`${stored.ordered} ${not} ilike ${test.pattern}`
        : whileInTime(dialect, sql`${stored.ordered} ${not} like ${test.pattern} escape '\\'`)
    default:
      return compareValue(stored, holds ? test.operator : OPPOSITE[test.operator], test.value)
  }
}

const compareValue = (stored: StoredValue, operator: Comparison, value: Value): Clause => {
  const side = operator === '=' || operator === '!=' ? stored.equal : stored.ordered
  return sql`${side} ${sql.raw(operator)} ${value}`
}

/** SQLite's LIKE folds case and can't be told not to; its GLOB is exact. */
const globOf = (pattern: string): string =>
  pattern.replace(/\\([\s\S])|([%_*?[])/g, (_all, escaped: string | undefined, sign: string | undefined) =>
    sign === '%'
      ? '*'
      : sign === '_'
        ? '?'
        : /[*?[]/.test(escaped ?? sign ?? '')
          ? `[${escaped ?? sign}]`
          : (escaped ?? ''),
  )
