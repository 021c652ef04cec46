import type { NormalizedSearch, NormalizedTest } from '../search/normalize.ts'
import { COLUMNS, type Operand, type SearchColumn, STATUSES, type Test } from '../search/search-tree.ts'
import { allOf, anyOf, type Clause, compileTest, type StoredValue, textValue, unordered } from './compile-test.ts'
import type { DialectName } from './dialect.ts'
import { type Lookup, type QueryScope, type SideTable, withoutRow, withRow } from './side-table-lookup.ts'
import { hasSpecValue, specValueTest } from './spec-value-test.ts'
import { sql } from './sql-text.ts'

/** What must hold of a resource: that a side table has a row for it, or anything else. */
export type QueryPart = { readonly look: Lookup } | { readonly clause: Clause }

export const toClause = (scope: QueryScope, part: QueryPart): Clause =>
  'look' in part ? withRow(scope, part.look) : part.clause

/**
 * A search as parts that must all hold of a row of `resources`; whatever the caller wrote becomes a parameter.
 *
 *   column                    a comparison of the row
 *   label, spec, condition    has a row in its table that fits
 *   … is null                 has none
 */
export const searchParts = (scope: QueryScope, search: NormalizedSearch): QueryPart[] => {
  switch (search.type) {
    case 'and':
      return mergeConditionTests(scope, search.operands)
    case 'or':
      return [{ clause: anyOf(search.operands.map((operand) => searchClause(scope, operand))) }]
    case 'missing':
      return [search.holds ? { clause: lacksOperand(scope, search.operand) } : hasOperand(scope, search.operand)]
    case 'test':
      return search.operand.type === 'column'
        ? [{ clause: rowClause(scope, search) }]
        : [hasOperand(scope, search.operand, [search])]
  }
}

const searchClause = (scope: QueryScope, search: NormalizedSearch): Clause =>
  allOf(searchParts(scope, search).map((part) => toClause(scope, part)))

/** How many looks into side tables a search takes, at most. */
export const countLookups = (search: NormalizedSearch): number =>
  'operands' in search
    ? search.operands.reduce((sum, operand) => sum + countLookups(operand), 0)
    : search.operand.type === 'column'
      ? 0
      : 1

/** Tests of one same condition that must all hold become one look at its index: "not ready since then" is a range there. */
const mergeConditionTests = (scope: QueryScope, operands: readonly NormalizedSearch[]): QueryPart[] => {
  const tests = operands.filter((operand) => operand.type === 'test')
  const looks = Map.groupBy(tests, ({ operand }) => (operand.type === 'condition' ? operand.condition : undefined))
  const others = [...operands.filter((operand) => operand.type !== 'test'), ...(looks.get(undefined) ?? [])]
  return [
    ...others.flatMap((operand) => searchParts(scope, operand)),
    ...[...looks].flatMap(([condition, about]) =>
      condition === undefined ? [] : [hasOperand(scope, { type: 'condition', condition, part: 'status' }, about)],
    ),
  ]
}

/** The test of the row that has the value: the resource's own, or one of a side table. */
const rowClause = ({ dialect }: QueryScope, { operand, test, holds }: NormalizedTest): Clause => {
  switch (operand.type) {
    case 'column':
      return compileTest(dialect, columnOf(dialect, operand.column), test, holds)
    case 'label':
      return compileTest(dialect, textValue(dialect, sql.ref('value')), test, holds)
    case 'condition':
      if (operand.part === 'status') return statusClause(test, holds)
      return compileTest(dialect, unordered(sql.ref(operand.part)), test, holds)
    case 'spec':
      return specValueTest(dialect, operand.path, test, holds)
  }
}

/** Said as the statuses that fit, because an index finds those, not what is unequal. */
const statusClause = (test: Test, holds: boolean): Clause => {
  const fitting = fittingStatuses(test, holds)
  // In the text, because they are few and a plan for any status takes half of all for fitting.
  return fitting.length === 0 ? sql`false` : sql.raw(`status in (${fitting.map((status) => `'${status}'`).join(', ')})`)
}

/** The statuses that fit, of those that are stored: none is ever Unknown. */
const fittingStatuses = (test: Test, holds: boolean): (typeof STATUSES)[number][] => {
  const named = 'values' in test ? test.values : 'value' in test ? [test.value] : []
  const isNamed = holds !== (test.operator === '!=')
  return STATUSES.filter((status) => status !== 'Unknown' && named.includes(status) === isNamed)
}

/** Whether it leaves one value of what the index by creation begins with. */
const isOfOneValue = ({ operand, test, holds }: NormalizedTest): boolean => {
  if (operand.type === 'condition') return operand.part === 'status' && fittingStatuses(test, holds).length === 1
  if (operand.type !== 'label') return false
  if (test.operator === 'in') return holds && test.values.length === 1
  return test.operator === (holds ? '=' : '!=')
}

/** Their indexes are in byte order, because pages go along them. */
const BYTE_INDEXED: ReadonlySet<SearchColumn> = new Set(['id', 'name'])

const columnOf = (dialect: DialectName, column: SearchColumn): StoredValue => {
  const value = sql.ref(`resources.${column}`)
  return COLUMNS[column] === 'text' ? textValue(dialect, value, BYTE_INDEXED.has(column)) : unordered(value)
}

/** The resource has the operand, of which all the tests hold. */
const hasOperand = (scope: QueryScope, operand: Operand, tests: readonly NormalizedTest[] = []): QueryPart => {
  if (operand.type === 'column') return { clause: sql`${sql.ref(`resources.${operand.column}`)} is not null` }
  const clauses = tests.map((test) => rowClause(scope, test))
  // A resource has one row of its spec, and a test of a value that isn't there fails by itself.
  if (operand.type === 'spec' && clauses.length > 0) return { look: { table: 'resource_specs', row: allOf(clauses) } }
  const { table, about } = locateOperand(scope.dialect, operand)
  return { look: { table, row: allOf([about, ...clauses]), isInOrder: tests.some(isOfOneValue) } }
}

const lacksOperand = (scope: QueryScope, operand: Operand): Clause => {
  if (operand.type === 'column') return sql`${sql.ref(`resources.${operand.column}`)} is null`
  const { table, about } = locateOperand(scope.dialect, operand)
  return withoutRow(scope, { table, row: about })
}

/** Which rows of which table are about an operand. */
const locateOperand = (
  dialect: DialectName,
  operand: Exclude<Operand, { readonly type: 'column' }>,
): { readonly table: SideTable; readonly about: Clause } => {
  switch (operand.type) {
    case 'label':
      return { table: 'resource_labels', about: sql`key = ${operand.key}` }
    case 'condition':
      return { table: 'resource_conditions', about: sql`type = ${operand.condition}` }
    case 'spec':
      return { table: 'resource_specs', about: hasSpecValue(dialect, operand.path) }
  }
}
